import { RUN_FLAGS, runOptionsOf } from '#sidecar'
import {
  asText,
  group,
  invalidCombination,
  many,
  missing,
  one,
  oneOf,
  operation,
  readFlags,
  type RequestOf,
  toggle,
  type Values,
} from '#cli'
import { headerFlags, parseTarget } from '../cli/server-flags.ts'
import { JSON_OUT } from './past-experiments.ts'

const PAGE = 'docs/guides/tapes.md'
const PLAY = 'The tape:'
const OWN = { form: '<file>', most: 1 }

/** Declares how a tape is played. */
export const PLAY_FLAGS = group(PLAY, {
  match: one(
    'mode',
    'match calls by tool and arguments (arguments), or by tool alone (tool), for models that vary arguments between runs',
    oneOf(['arguments', 'tool']),
    { default: 'arguments' },
  ),
  pace: one(
    'mode',
    'pace of responses: at once (none), or as recorded (real)',
    oneOf(['none', 'real']),
    { default: 'none' },
  ),
  session: one('id', 'ID prefix of the recorded session to play, or all', asText),
  offTape: one(
    'mode',
    'response to a call that is not on the tape: an error (error), or the last recorded response to the same call or, if there is none, from the same tool (last)',
    oneOf(['error', 'last']),
    { default: 'error' },
  ),
})

export type PlayFlags = Values<typeof PLAY_FLAGS>

const LIVE = 'MCP endpoint of a live server that handles tool calls not on the tape'

/** The flags of `squall run` for the sidecar of a tape. */
const SIDECAR_FLAGS = {
  listen: RUN_FLAGS.listen,
  admin: RUN_FLAGS.admin,
  adminTokenFile: RUN_FLAGS.adminTokenFile,
  adminHosts: RUN_FLAGS.adminHosts,
  adminReadTokenFile: RUN_FLAGS.adminReadTokenFile,
  rules: RUN_FLAGS.rules,
  seed: RUN_FLAGS.seed,
  dryRun: RUN_FLAGS.dryRun,
  headerFaults: RUN_FLAGS.headerFaults,
  headerFaultsMaxPercent: RUN_FLAGS.headerFaultsMaxPercent,
  environment: RUN_FLAGS.environment,
  logLevel: RUN_FLAGS.logLevel,
  logFormat: RUN_FLAGS.logFormat,
  callLog: RUN_FLAGS.callLog,
  callLogSize: RUN_FLAGS.callLogSize,
  drainTimeout: RUN_FLAGS.drainTimeout,
}

const SERVE_FLAGS = {
  ...PLAY_FLAGS,
  ...group(PLAY, {
    stdio: toggle('serve over stdio, without a sidecar'),
    upstream: one('url', LIVE, parseTarget),
  }),
  ...headerFlags(PLAY),
  ...SIDECAR_FLAGS,
}

export const TAPE_SERVE = operation({
  name: 'tape serve',
  examples: [
    'tape serve book-flight.tape',
    'tape serve book-flight.tape --rules rules.yaml --listen 127.0.0.1:3000',
    'tape serve book-flight.tape --stdio',
  ],
  page: PAGE,
  description: 'serve a tape as an MCP server, behind a sidecar',
  operands: OWN,
  flags: SERVE_FLAGS,
  note: `
To inject faults into a tape over stdio, start this command with squall stdio --rules FILE.`,
  parse: (flags, { operands, env, names }) => {
    const { match, pace, session, offTape, stdio, upstream, header, authTokenFile } = flags
    const sidecars = ['listen', 'admin', 'rules', 'header-faults', 'call-log']
    const useless = sidecars.find((name) => stdio && names(name))
    if (useless !== undefined) {
      const fix =
        'start it with squall stdio and that option: squall stdio -- squall tape serve FILE --stdio'
      throw invalidCombination(`--${useless} has no effect with --stdio`, fix)
    }
    if (upstream !== undefined && offTape !== 'error') {
      throw invalidCombination(
        '--off-tape and --upstream are mutually exclusive',
        'remove one of the two',
      )
    }
    const others = readFlags(RUN_FLAGS, new Map(), {})
    // The tape takes the place of an address that nobody dials.
    const nowhere = flags.listen.map(() => ({ text: 'http://127.0.0.1:1', source: '--upstream' }))
    const own = { ...others, ...flags, upstream: nowhere, readyWithoutUpstream: true }
    return {
      file: fileOf(operands),
      play: { match, pace, session, offTape },
      live: upstream && { upstream, header, authTokenFile },
      stdio,
      run: runOptionsOf(own, env),
    }
  },
})

export type ServeRequest = RequestOf<typeof TAPE_SERVE>

/** Returns the file that a command names. Throws a `UsageError`. */
export function fileOf([file]: readonly string[]): string {
  if (file === undefined) throw missing('no tape', 'specify a file written by squall run --tape')
  return file
}

const COMPARED = group('Comparison:', {
  values: toggle('also compare values, in addition to shapes (members and types)'),
})

export const TAPE_SHOW = operation({
  name: 'tape show',
  examples: ['tape show book-flight.tape', 'tape show book-flight.tape --json'],
  page: PAGE,
  description: 'list the calls of a tape with times, sizes and outcomes',
  operands: OWN,
  flags: JSON_OUT,
  parse: ({ json }, { operands }) => ({ file: fileOf(operands), json }),
})

export const TAPE_DIFF = operation({
  name: 'tape diff',
  examples: ['tape diff monday.tape tuesday.tape', 'tape diff monday.tape tuesday.tape --values'],
  page: PAGE,
  description: 'compare two tapes, and show changed calls and responses; exit code 1 for a change',
  operands: { form: '<before> <after>', most: 2 },
  flags: { ...COMPARED, ...JSON_OUT },
  parse: (flags, { operands: [before, after] }) => {
    if (before === undefined || after === undefined) {
      throw missing('fewer than two tapes', 'pass the earlier tape, then the later one')
    }
    return { files: [before, after] as const, ...flags }
  },
})

export const TAPE_CHECK = operation({
  name: 'tape check',
  examples: [
    'tape check book-flight.tape --upstream http://127.0.0.1:3000/mcp',
    'tape check book-flight.tape --upstream http://127.0.0.1:3000/mcp --values --tool get_price',
  ],
  page: PAGE,
  description:
    'replay the tool calls of a tape against a live server, and compare the responses; exit code 1 for a difference, or if no call is compared',
  operands: OWN,
  flags: {
    ...group('The server:', {
      upstream: one('url', 'MCP endpoint of the live server', parseTarget, {
        required: 'write the URL of the MCP endpoint, such as http://localhost:3000/mcp',
      }),
      tool: many('name', 'tool to call even if it is not read-only; repeatable', (given) =>
        given.map(asText),
      ),
    }),
    ...headerFlags('The server:'),
    ...COMPARED,
    ...JSON_OUT,
  },
  parse: (flags, { operands }) => ({ file: fileOf(operands), ...flags }),
})
