export interface Part {
  readonly name: string
  readonly summary: string
  readonly minutes: number
  readonly run: readonly string[]
  readonly workers?: number
  readonly tools?: readonly string[]
  readonly system?: true
}
export const MERGE: readonly Part[]
export const NIGHTLY: readonly Part[]
export const PARTS: ReadonlyMap<string, Part>
