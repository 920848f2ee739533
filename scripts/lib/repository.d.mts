interface Manifest {
  readonly homepage: string
  readonly repository: { readonly url: string }
}

export function problemsOfRepository(manifest: Manifest, running: string | undefined): string[]
