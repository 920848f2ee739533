import type { RandomSource } from '../../../base/seeded-random.ts'

/** State that all parts of one generated value share. */
export interface Making {
  /** Where references lead. */
  readonly root: unknown
  readonly random: RandomSource
  /** The remaining number of values and schema parts: the schema comes from outside. */
  left: number
  /** Makes a value for a part of the schema. */
  readonly make: (schema: unknown, depth: number) => unknown
}
