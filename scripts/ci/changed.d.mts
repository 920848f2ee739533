export interface Choice {
  readonly run: readonly string[]
  readonly left: readonly { readonly name: string; readonly why: string }[]
  readonly everythingFor: readonly string[]
}
export function partsFor(paths: readonly string[], exists: (path: string) => boolean): Choice
