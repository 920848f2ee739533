import type { Variant } from '../variant.ts'
import { CONTENT } from './content.ts'
import { CUTS } from './cuts.ts'
import { ERRORS } from './errors.ts'
import { LATENESS } from './lateness.ts'
import { STREAMS } from './streams.ts'

/** All ways to use the faults that the matrix has. */
export const VARIANTS: readonly Variant[] = [
  ...ERRORS,
  ...LATENESS,
  ...CUTS,
  ...STREAMS,
  ...CONTENT,
]
