import type { ValueCheck } from './value-checks.ts'

/** The objects with a key. Keys of a namespace are defaults for its pods. */
export type AnnotationTarget = 'pod' | 'namespace'

/** One key, without its prefix. */
export interface AnnotationSpec {
  readonly key: string
  readonly targets: readonly AnnotationTarget[]
  /** The form of the value. */
  readonly form: string
  /** The default; empty for none. */
  readonly fallback: string
  readonly meaning: string
  readonly check: ValueCheck
}

/** The annotations by key; those without targets are for both, and those without a default have none. */
export type AnnotationTable = Readonly<
  Record<
    string,
    Omit<AnnotationSpec, 'key' | 'targets' | 'fallback'> &
      Partial<Pick<AnnotationSpec, 'targets' | 'fallback'>>
  >
>
