/**
 * The colour of a series depends on its subject, and is the same in every dashboard. Only faults
 * are purple, and only real errors are red: other problems are orange.
 */
export const COLOURS = {
  injected: '#B877D9',
  real: '#E02F44',
  good: '#56A64B',
  app: '#5794F2',
  client: '#FF9830',
  plain: '#8E8E9A',
}

/** Bad, without saying whose fault it is. */
export const BAD = 'dark-orange'

/** Thresholds for shares of which more is better. */
export const MORE_IS_BETTER = [
  { value: null, color: BAD },
  { value: 0.95, color: 'yellow' },
  { value: 0.99, color: 'green' },
]

/** Thresholds for a value that is to stay below two bounds. */
export function lessIsBetter(warning, critical) {
  return [
    { value: null, color: 'green' },
    { value: warning, color: 'yellow' },
    { value: critical, color: BAD },
  ]
}

/** Thresholds where no value is good or bad by itself. */
export const NEUTRAL = [{ value: null, color: COLOURS.plain }]

/** Thresholds of numbers that must be none, or else something is bad. */
export const NONE_IS_GOOD = [
  { value: null, color: 'green' },
  { value: 1, color: BAD },
]

/** Thresholds of numbers that must not be none. */
export const ANY_IS_GOOD = [
  { value: null, color: BAD },
  { value: 1, color: 'green' },
]

/** Thresholds of something that has a colour of its own: grey while there is none of it. */
export function anyOf(role) {
  return [
    { value: null, color: COLOURS.plain },
    { value: 1e-9, color: COLOURS[role] },
  ]
}

/** Thresholds of what may inject faults: grey while it may not. */
export const ARMED_COLOURS = [
  { value: null, color: COLOURS.plain },
  { value: 1, color: COLOURS.injected },
]
