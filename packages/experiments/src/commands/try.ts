import {
  asText,
  count,
  duration,
  group,
  invalidCombination,
  one,
  operation,
  type RequestOf,
  toggle,
} from '#cli'
import { headerFlags, parseTarget } from '../cli/server-flags.ts'

const SERVER = 'The server:'
const FORM = 'add its command after --, as in -- npx -y some-mcp-server, or pass its URL with --url'

export const TRY = operation({
  name: 'try',
  examples: [
    'try -- npx -y @modelcontextprotocol/server-everything',
    'try --port 3000 -- node server.mjs',
    'try --url http://localhost:3000/mcp',
  ],
  page: 'docs/get-started/laptop.md',
  description: 'start an MCP server behind Squall, and compare a call with and without a fault',
  operands: { form: '[command...]', most: Infinity },
  flags: {
    ...group(SERVER, {
      url: one('url', 'MCP endpoint of a running server, instead of a command', parseTarget),
      port: count('PORT environment variable for a server that does not print its address', {
        min: 1,
        max: 65_535,
      }),
      timeout: duration('timeout until the server responds', { min: 100, max: 3_600_000 }, '30s'),
      ...headerFlags(SERVER),
    }),
    ...group('Call:', {
      tool: one(
        'name',
        'tool to call (default: a read-only tool, or else one without hints)',
        asText,
      ),
      json: toggle('print the results as one line of JSON'),
    }),
  },
  fromEnvironment: false,
  note: `
Put the server command after --. The server speaks stdio, or listens on HTTP and prints its address,
and inherits the environment. Ctrl-C stops server and Squall.`,
  parse: (flags, { env, operands: command }) => {
    const isNamed = flags.url !== undefined
    if (isNamed === command.length > 0) {
      throw invalidCombination(
        isNamed ? 'a command and --url are mutually exclusive' : 'no server',
        FORM,
      )
    }
    const port = flags.port ?? (Number(env['PORT']) || undefined)
    return { ...flags, port, command }
  },
})

export type TryRequest = RequestOf<typeof TRY>
