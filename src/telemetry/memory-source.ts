/** A budget of memory as scrapes show it. */
export interface MemorySource {
  readonly limit: number
  readonly held: number
  readonly kept: number
  readonly pressure: Readonly<Record<string, number>>
}
