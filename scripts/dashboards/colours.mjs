/** What a series is about has one colour, whichever dashboard shows it. */
export const COLOURS = {
  injected: '#B877D9',
  real: '#E02F44',
  good: '#56A64B',
  app: '#5794F2',
  client: '#FF9830',
  plain: '#8E8E9A',
}

/** Thresholds for shares of which more is better. */
export const MORE_IS_BETTER = [
  { value: null, color: 'red' },
  { value: 0.95, color: 'yellow' },
  { value: 0.99, color: 'green' },
]

/** Thresholds for a value that is to stay below two bounds. */
export function lessIsBetter(warning, critical) {
  return [
    { value: null, color: 'green' },
    { value: warning, color: 'yellow' },
    { value: critical, color: 'red' },
  ]
}

/** Thresholds where no value is good or bad by itself. */
export const NEUTRAL = [{ value: null, color: COLOURS.plain }]

/** Thresholds of injected things, which are neither good nor bad. */
export const INJECTED = [{ value: null, color: COLOURS.injected }]

/** Thresholds of what may inject faults: grey while it may not. */
export const ARMED_COLOURS = [
  { value: null, color: COLOURS.plain },
  { value: 1, color: COLOURS.injected },
]
