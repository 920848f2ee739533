import { startWords } from '../../base/started-as.ts'

/** Describes the program, or the first word of commands with two, for its help. */
export interface Family {
  readonly description: string
  /** Command lines without the program's name. */
  readonly examples: readonly string[]
  /** The path of the page in docs. */
  readonly page: string
}

/** Returns the end of a help: examples, and the page to read. */
export function endOfHelp({ examples, page }: Omit<Family, 'description'>): string {
  const start = startWords()
  const lines = examples.map((example) => `  ${start} ${example}\n`)
  return `\nExamples:\n${lines.join('')}\nMore: ${page}`
}

export const PROGRAM: Family = {
  description:
    'A sidecar that takes over the MCP port of a pod and injects faults into selected calls.',
  examples: [
    'demo',
    'init --target http://localhost:3000/mcp',
    'run --upstream http://localhost:3000 --rules rules.yaml',
  ],
  page: 'docs/README.md',
}

export const FAMILIES: Readonly<Record<string, Family>> = {
  fault: {
    description: 'inject faults for a while with one command, and list and end them',
    examples: [
      'fault add --tool search_docs --delay 2s --percent 30 --for 30s',
      'fault list',
      'fault clear',
    ],
    page: 'docs/guides/one-command-faults.md',
  },
  report: {
    description: 'show results of squall load as HTML or Markdown, and merge those of shards',
    examples: ['report html result.json -o report.html', 'report merge a.json b.json -o all.json'],
    page: 'docs/guides/reports.md',
  },
  policy: {
    description: 'check the policy that limits experiments, and print it for an agent',
    examples: [
      'policy validate squall-policy.yaml',
      'policy print squall-policy.yaml --for claude',
    ],
    page: 'docs/guides/policy.md',
  },
  experiment: {
    description:
      'run plans of faults under load, check them, and show, compare and repeat past runs',
    examples: [
      'experiment catalog latency > plan.yaml',
      'experiment validate plan.yaml',
      'experiment run plan.yaml',
      'experiment show last',
    ],
    page: 'docs/guides/experiments.md',
  },
}

/** The sections of the program's help, with the first words of their commands. */
export const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  'On this machine:': [
    'run',
    'stdio',
    'demo',
    'init',
    'check',
    'top',
    'tap',
    'watch',
    'fault',
    'disarm',
    'arm',
  ],
  'Rules:': ['validate', 'schema', 'explain', 'import'],
  'Load and experiments:': ['load', 'report', 'experiment', 'policy', 'hook', 'mcp', 'approve'],
  'In a cluster, with your kubeconfig:': ['apply', 'status', 'attach', 'detach', 'stop', 'resume'],
  'Manifests, the webhook and pods:': [
    'inject',
    'uninject',
    'webhook',
    'redirect',
    'attached',
    'wait-ready',
    'pre-stop',
  ],
  'Help:': ['completion', 'help'],
}
