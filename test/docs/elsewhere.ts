/** Why a command is not run as part of its page. */
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
  'docs/guides/experiments.md',
  'docs/guides/explain.md',
  'docs/guides/fail-one-tool.md',
  'docs/guides/faults-do-not-fire.md',
  'docs/guides/one-command-faults.md',
  'docs/guides/operations.md',
  'docs/concepts/injection.md',
  'docs/reference/admin-api.md',
  'docs/reference/import.md',
  'deploy/examples/README.md',
  'examples/README.md',
]

/** Pages that take longer: `test/system/docs-pages.test.ts` follows them. */
export const RUN_LONG: readonly string[] = [
  'docs/get-started/ci.md',
  'docs/get-started/laptop.md',
  'docs/get-started/tutorial.md',
  'docs/guides/expire-sessions.md',
  'docs/guides/in-tests.md',
  'docs/guides/load.md',
  'docs/guides/outbound.md',
  'docs/guides/reports.md',
  'docs/guides/test-a-retry-policy.md',
]

/** Commands that are not run as part of a page: the first entry that matches counts. */
export const ELSEWHERE: readonly Elsewhere[] = [
  { command: /^npx mcp-squall try /, by: 'try-terminal.test.ts' },
  {
    command: /^npx mcp-squall tap |\/api\/tap/,
    because: 'it prints nothing before a call comes; the tests of the tap read its lines',
  },
  {
    page: 'docs/guides/tapes.md',
    command: /^npx mcp-squall (?:run|stdio|tape) /,
    because: 'it waits for an agent, or for its tape; packages/experiments/test/tape has both',
  },
  {
    page: 'docs/guides/sweep.md',
    command: /^npx mcp-squall (?:run|sweep) /,
    because: 'the agent is the reader’s own; packages/experiments/test/sweep has one, and its tape',
  },
  {
    page: 'docs/reference/frameworks.md',
    command: /^(?:npm|node scripts\/frameworks)/,
    by: 'frameworks.test.ts',
  },
  {
    page: 'docs/guides/tracing.md',
    command: /^OTEL_EXPORTER_OTLP_ENDPOINT=/,
    because: 'it needs a collector; the tests of spans have one, and name it so',
  },
  {
    page: 'docs/guides/tracing.md',
    command: /^helm upgrade /,
    because: 'it changes a release; the golden file of the chart has this value',
  },
  {
    page: 'docs/guides/evaluate-agents.md',
    command: /^npx mcp-squall run --upstream/,
    because: 'it waits for agents; scripted ones call Squall with its flags in other tests',
  },
  {
    page: 'docs/guides/evaluate-agents.md',
    command: /^npx mcp-squall load /,
    because:
      'it needs a sidecar; a test in packages/experiments/test/load has one, and these gates',
  },
  {
    command: /^npx mcp-squall agents/,
    because: 'it needs an agent that reacts; its tests have one, and read the sentences',
  },
  {
    page: 'docs/guides/one-command-faults.md',
    command: /--compat-api|\/chaos\//,
    because: 'the sidecar of the page has other flags; the tests of this API send the requests',
  },
  {
    page: 'docs/guides/stdio.md',
    command: /^npx mcp-squall (?:stdio|explain)/,
    because: 'the server is the reader’s own; tests of the command start real ones',
  },
  {
    command: /^docker compose /,
    because: 'there is no Docker here; compose.test.ts runs what the file says as processes',
  },
  {
    command: /@modelcontextprotocol\/inspector|supergateway|^k6 |pytest/,
    by: 'docs-programs.test.ts',
  },
  {
    page: 'examples/agents/README.md',
    command: /./,
    by: 'agents-replay.test.ts',
  },
  {
    command: /^npx mcp-squall experiment next /,
    because: 'it needs a sidecar with traffic; tests of it have one, at other addresses',
  },
  {
    command: /^npx mcp-squall experiment search /,
    because: 'it takes half an hour; the tests of the search make shorter runs',
  },
  {
    page: 'docs/guides/simulate.md',
    command: /^npx mcp-squall /,
    because: 'packages/experiments/test/simulate measures and predicts with less of both',
  },
  {
    page: 'docs/guides/experiment',
    command: /^npx mcp-squall experiment (?:run|list)/,
    because: 'it takes four minutes; experiments.test.ts runs plans that are shorter',
  },
  {
    page: 'docs/guides/outbound.md',
    command: /node server.mjs/,
    because: 'the server is the reader’s own; docs-pages.test.ts starts one, with PostgreSQL',
  },
  {
    page: 'docs/guides/agents.md',
    command: /squall (mcp|approve)/,
    because:
      'packages/experiments/test/mcp-server runs both, with real clients before a real sidecar',
  },
  {
    page: 'docs/guides/policy.md',
    command: /./,
    because: 'test/cli/policy has these commands, and plans that are within and outside a policy',
  },
  {
    page: 'docs/get-started/kubernetes.md',
    command: /^docker/,
    because: 'there is no Docker',
  },
  {
    page: 'docs/guides/upgrade-uninstall.md',
    command: /^kubectl -n squall-system logs job/,
    because: 'no uninstallation failed',
  },
  { page: 'docs/get-started/kubernetes.md', command: /./, by: 'cluster-docs.test.ts' },
  { page: 'docs/guides/upgrade-uninstall.md', command: /./, by: 'cluster-docs.test.ts' },
  {
    page: 'docs/guides/faults-do-not-fire.md',
    command: /kubectl|^curl /,
    by: 'cluster-docs.test.ts',
  },
  { page: 'docs/guides/apply.md', command: /./, by: 'cluster-docs.test.ts' },
  { page: 'docs/guides/attach.md', command: /./, by: 'cluster-docs.test.ts' },
  {
    page: 'docs/guides/gateway.md',
    command: /./,
    because: 'needs a cluster; chart-gateway.test.ts runs what the pod runs',
  },
  {
    page: 'docs/guides/admission-policies.md',
    command: /validating-admission-policies/,
    by: 'admission-policies.test.ts',
  },
  {
    page: 'docs/guides/admission-policies.md',
    command: /kyverno/,
    because: 'Kyverno needs a cluster of its own; its schema and the expressions are tested',
  },
  { page: 'docs/guides/cluster-cli.md', command: /./, by: 'cluster-docs.test.ts' },
  {
    page: 'docs/guides/',
    command: /^kubectl port-forward/,
    because: 'cluster-docs.test.ts forwards a port by the command of get-started/kubernetes.md',
  },
  { page: 'docs/guides/top.md', command: /./, by: 'docs-programs.test.ts' },
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
  { page: 'docs/get-started/demo.md', command: /squall demo/, by: 'docs-programs.test.ts' },
  {
    command: /^npm ci && npm test\b/,
    because: 'npm test is what runs the commands of the pages',
  },
  { page: 'README.md', command: /^npm ci && npm run demo\b/, by: 'newcomer.test.ts' },
  {
    page: 'README.md',
    command: /^(?:helm|kubectl|npx mcp-squall (?:apply|stop)) /,
    because: 'get-started/kubernetes.md has the same commands, and a test compares them',
  },
  {
    page: 'docs/concepts/redirect.md',
    command: /--dry-run/,
    because: 'nft needs Linux; redirect.test.ts redirects traffic',
  },
  {
    page: 'docs/concepts/redirect.md',
    command: /^SQUALL_APP_PROBES/,
    because: 'probes need a pod; cluster-pods.test.ts has them',
  },
  {
    page: 'docs/concepts/webhook.md',
    command: /./,
    because: 'it needs an API server and certificates; webhook-rotation.test.ts starts it',
  },
  { command: /^cd examples\/tests\/(?:go|java) /, by: 'fixtures-elsewhere.test.ts' },
  { page: 'deploy/agents/plugin/', command: /./, by: 'agent-plugin.test.ts' },
  {
    page: 'deploy/',
    command: /^(?:helm|kubectl|for pod|sed|npx mcp-squall (?:status|load merge)) /,
    because: 'the cluster tests apply the same files, with images that exist',
  },
  {
    page: 'docs/reference/commands.md',
    command: /./,
    because: 'examples of the help; documents.test.ts reads each as a command line',
  },
  {
    page: 'docs/contributing/',
    command: /./,
    because: 'for contributors; documents.test.ts looks for the scripts',
  },
  { page: 'CONTRIBUTING.md', command: /./, because: 'documents.test.ts looks for the scripts' },
  { page: 'test/', command: /./, because: 'the commands run the tests themselves' },
]

/** Commands that end with another exit code than 0, as their page says. */
export const FAILS: readonly {
  readonly page: string
  readonly command: RegExp
  readonly code: number
}[] = [
  { page: 'README.md', command: /--slo 'success>99%'$/, code: 1 },
  { page: 'docs/get-started/tutorial.md', command: /--slo 'success>99%' --report/, code: 1 },
  { page: 'docs/guides/outbound.md', command: /SELECT 2/, code: 2 },
]

/** Shortens durations of minutes to seconds for tests, and names an address that is the default. */
export const SHORTER: readonly (readonly [long: RegExp, short: string])[] = [
  [/--duration \d+s/, '--duration 2s'],
  [/--task-count \d{3,}/, '--task-count 60'],
  [/^npx mcp-squall fault \w+/, '$& --sidecar 127.0.0.1:15390'],
  [/^npx mcp-squall check(?= --target \S+ --rules \S+$)/, '$& --sidecar 127.0.0.1:15390'],
]
