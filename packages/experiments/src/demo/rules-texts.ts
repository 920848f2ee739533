/** Two calls in a hundred fail, whatever they ask for. */
export const TWO_PERCENT = `version: 1
seed: 1
rules:
  - name: two-percent
    match: { tool: '*' }
    percent: 2
    faults: [abort: { toolError: connection to db-7 lost }]
`

/** The same, and a slow search beside it. */
export const SLOW_SEARCH = `${TWO_PERCENT}  - name: slow-search
    match: { tool: 'search_*' }
    percent: 20
    faults: [delay: { fixed: 40ms, jitter: 10ms }]
`

/** And then the database is away for everybody. */
export const OUTAGE = `${SLOW_SEARCH}  - name: no-database
    match: { tool: query_db }
    faults: [abort: { toolError: connection to db-7 lost }]
`

/** An edit with an error in it. */
export const MISTAKEN = OUTAGE.replace('percent: 20', 'precent: 20')
