import { ownCommand } from '../base/program.ts'

/** Describes the program, or the words before those of several commands, for its help. */
export interface Family {
  readonly description: string
  /** Command lines without the program's name. */
  readonly examples: readonly string[]
  /** The path of the page in docs. */
  readonly page: string
}

/** Returns the end of a help: examples, and the page to read. */
export function endOfHelp({ examples, page }: Omit<Family, 'description'>): string {
  const start = ownCommand()
  const lines = examples.map((example) => `  ${start} ${example}\n`)
  return `\nExamples:\n${lines.join('')}\nMore: ${page}`
}

export const PROGRAM: Family = {
  description:
    'A sidecar that takes over the MCP port of a pod and injects faults into selected calls.',
  examples: [
    'try -- npx -y @modelcontextprotocol/server-everything',
    'try --url http://localhost:3000/mcp',
    'run --upstream http://localhost:3000 --rules rules.yaml',
  ],
  page: 'docs/README.md',
}

export const FAMILIES: Readonly<Record<string, Family>> = {
  fault: {
    description: 'inject, list and remove temporary faults',
    examples: [
      'fault add --tool search_docs --delay 2s --percent 30 --for 30s',
      'fault list',
      'fault clear',
    ],
    page: 'docs/guides/one-command-faults.md',
  },
  tape: {
    description:
      'serve recorded MCP traffic, show it, and compare it with a server or another tape',
    examples: [
      'tape serve book-flight.tape --rules rules.yaml',
      'tape show book-flight.tape',
      'tape check book-flight.tape --upstream http://127.0.0.1:3000/mcp',
    ],
    page: 'docs/guides/tapes.md',
  },
  'mcp policy': {
    description: 'write, trust and check the policy that limits experiments, and print it',
    examples: ['mcp policy init', 'mcp policy trust', 'mcp policy validate squall-policy.yaml'],
    page: 'docs/guides/policy.md',
  },
  experiment: {
    description:
      'run fault experiments under load, check plans, and show, compare and repeat past runs',
    examples: [
      'experiment catalog latency > plan.yaml',
      'experiment validate plan.yaml',
      'experiment run plan.yaml',
      'experiment show last',
    ],
    page: 'docs/guides/experiments.md',
  },
}

/** The part of the source that has a command. */
export type Home = 'sidecar' | 'kubernetes' | 'experiments' | 'tools'

/**
 * The sections of the program's help, with the first words of their commands and where each is, in
 * the order of every list of commands.
 */
export const SECTIONS: Readonly<Record<string, Readonly<Record<string, Home>>>> = {
  'On this machine:': {
    run: 'sidecar',
    stdio: 'sidecar',
    demo: 'experiments',
    try: 'experiments',
    init: 'experiments',
    check: 'experiments',
    top: 'tools',
    tap: 'tools',
    agents: 'tools',
    fault: 'sidecar',
  },
  'Locally, or in a cluster with -n:': { stop: 'kubernetes', resume: 'kubernetes' },
  'Load and experiments:': {
    load: 'experiments',
    experiment: 'experiments',
    tape: 'experiments',
    sweep: 'experiments',
    mcp: 'experiments',
  },
  'Rules:': { validate: 'sidecar', explain: 'sidecar', import: 'experiments' },
  'In a cluster, with your kubeconfig:': {
    apply: 'kubernetes',
    status: 'kubernetes',
    attach: 'kubernetes',
    inject: 'kubernetes',
  },
  'Run inside a pod:': {
    webhook: 'kubernetes',
    redirect: 'kubernetes',
    attached: 'kubernetes',
    'wait-ready': 'sidecar',
    'pre-stop': 'sidecar',
  },
  'For shells and editors:': { completion: 'sidecar', schema: 'experiments' },
}

/** The sections that only `squall help --all` shows. */
export const HIDDEN: readonly string[] = ['Run inside a pod:', 'For shells and editors:']

/** Where the command with a first word is; first words in the order of the help. */
export const HOMES: ReadonlyMap<string, Home> = new Map(
  Object.values(SECTIONS).flatMap((section) => Object.entries(section)),
)
