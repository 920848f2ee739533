import { readDuration, readPercent } from '#base'
import type { AnnotationKey } from './annotations.ts'
import { elements } from './value-checks.ts'

/** Combines a value with the one above; undefined when the value would loosen that one. */
type Ceiling = (above: string, given: string) => string | undefined

/** The annotations that can only be stricter than the same key of the namespace and the settings. */
const CEILINGS: { readonly [Key in AnnotationKey]?: Ceiling } = {
  'max-percent': atMost(readPercent),
  'max-duration': atMost(readDuration),
  'max-active': atMost(Number),
  'guard-error-rate': atMost((value) => (value === 'off' ? Infinity : readPercent(value))),
  // In a shorter window the guard sees too few calls; a longer one hides a burst of errors.
  'guard-window': (above, given) =>
    readDuration(given) === readDuration(above) ? above : undefined,
  'allow-faults': (above, given) => {
    const allowed = elements(above)
    return elements(given).every((fault) => allowed.includes(fault)) ? given : undefined
  },
  'deny-tools': added,
  'exclude-paths': added,
  'rollback-on': added,
}

/**
 * Returns the value that applies below the value of a namespace or of the settings; undefined when
 * the value would loosen it. Both are valid.
 */
export function belowCeiling(key: AnnotationKey, above: string, given: string): string | undefined {
  const ceiling = CEILINGS[key]
  return ceiling === undefined ? given : ceiling(above, given)
}

function atMost(read: (value: string) => number | undefined): Ceiling {
  return (above, given) => ((read(given) ?? Infinity) <= (read(above) ?? 0) ? given : undefined)
}

function added(above: string, given: string): string {
  return `${above},${given}`
}
