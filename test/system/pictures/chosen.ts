/** A reader's choices, including the range of the data shown. */
export interface Choice {
  readonly rateInterval?: string
  readonly range?: string
  readonly variables?: Readonly<Record<string, string>>
}

/** Fills in what readers choose; everything where they choose nothing. */
export function chosen(expr: string, choice: Choice = {}): string {
  const { rateInterval = '5s', range = '60s', variables = {} } = choice
  return expr
    .replaceAll('$__rate_interval', rateInterval)
    .replaceAll('$__range', range)
    .replaceAll(/\$(\w+)/g, (_, name: string) => variables[name] ?? '.*')
}
