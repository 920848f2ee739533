/** Why `npm test` does not run a command of the pages. */
export interface Elsewhere {
  /** The beginning of a page's path, or all pages. */
  readonly page?: string
  readonly command: RegExp
  /** The system test that runs it. */
  readonly by?: string
  /** The reason why nothing here can run it. */
  readonly because?: string
}

/** Commands that `npm test` does not run: the first entry that matches counts. */
export const ELSEWHERE: readonly Elsewhere[] = [
  {
    command: /^docker compose /,
    because: 'there is no Docker here; compose.test.ts runs what the file says as processes',
  },
  {
    command: /@modelcontextprotocol\/inspector|supergateway|^k6 |pytest/,
    by: 'docs-programs.test.ts',
  },
  {
    page: 'docs/guides/experiments.md',
    command: /^npx squall experiment (?:run|list)/,
    because: 'it takes four minutes; experiments.test.ts runs plans that are shorter',
  },
  { page: 'docs/get-started/demo.md', command: /squall demo/, by: 'demo.test.ts' },
  { page: 'README.md', command: /^npm (?:ci|run demo)\b/, by: 'newcomer.test.ts' },
  {
    page: 'README.md',
    command: /^(?:helm|kubectl|npx squall (?:apply|stop)) /,
    by: 'cluster-docs.test.ts',
  },
]

/** Commands that end with another exit code than 0, as their page says. */
export const FAILS: readonly {
  readonly page: string
  readonly command: RegExp
  readonly code: number
}[] = [{ page: 'README.md', command: /--slo 'success>99%'$/, code: 1 }]

/** What takes a reader minutes takes a test seconds. */
export const SHORTER: readonly (readonly [long: RegExp, short: string])[] = [
  [/--duration \d+s/, '--duration 2s'],
  [/--tasks \d{3,}/, '--tasks 60'],
]
