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

/** Pages that `npm test` follows from top to end. */
export const RUN_HERE: readonly string[] = [
  'README.md',
  'docs/get-started/agents.md',
  'docs/get-started/ci.md',
  'docs/get-started/laptop.md',
  'docs/guides/admin-api.md',
  'docs/guides/expire-sessions.md',
  'docs/guides/experiments.md',
  'docs/guides/explain.md',
  'docs/guides/fail-one-tool.md',
  'docs/guides/faults-do-not-fire.md',
  'docs/guides/in-tests.md',
  'docs/guides/load.md',
  'docs/guides/operations.md',
  'docs/guides/reports.md',
  'docs/guides/test-a-retry-policy.md',
]

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
  {
    page: 'docs/get-started/kubernetes.md',
    command: /^(?:docker|kubectl -n squall-system logs job)/,
    because: 'there is no Docker, and no uninstallation that failed',
  },
  { page: 'docs/get-started/kubernetes.md', command: /./, by: 'cluster-docs.test.ts' },
  { page: 'docs/guides/apply.md', command: /./, by: 'cluster-docs.test.ts' },
  { page: 'docs/guides/attach.md', command: /./, by: 'cluster-docs.test.ts' },
  { page: 'docs/guides/cluster-cli.md', command: /./, by: 'cluster-docs.test.ts' },
  { page: 'docs/guides/admin-page.md', command: /./, by: 'admin-page.test.ts' },
  { page: 'docs/guides/top.md', command: /./, by: 'top-terminal.test.ts' },
  {
    page: 'docs/guides/image.md',
    command: /./,
    because: 'there is no Docker and no registry; pod.test.ts builds the image with buildah',
  },
  {
    page: 'docs/guides/dashboards.md',
    command: /^np[mx] /,
    because: 'the command is a system test',
  },
  { page: 'docs/get-started/demo.md', command: /squall demo/, by: 'demo.test.ts' },
  { command: /^npm ci && npm test\b/, because: 'npm test is what runs the commands of the pages' },
  { page: 'README.md', command: /^npm ci && npm run demo\b/, by: 'newcomer.test.ts' },
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
