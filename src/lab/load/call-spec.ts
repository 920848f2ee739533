import type { Expectation } from './expectation.ts'

/** A call as a file of calls gives it. */
export interface CallSpec {
  readonly tool: string
  /** Made from the schema of the tool when not given. */
  readonly arguments?: Readonly<Record<string, unknown>>
  /** The weight with which it is chosen. */
  readonly weight: number
  readonly expect: readonly Expectation[]
}
