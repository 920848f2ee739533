import { durationText } from '../base/units.ts'
import { isOther } from '../mcp/call.ts'
import { duration, oneOf, section } from './lib/config-schema.ts'
import { CONTINUE, defineFault } from './fault.ts'
import type {
  Fault,
  FaultContext,
  Frame,
  Frames,
  ParameterProblem,
  ServerHandle,
  Verdict,
} from './fault.ts'
import { frameText } from './lib/json/frame-json.ts'
import { changingLast } from './lib/json/json-part.ts'
import { NOTHING } from './lib/outlook.ts'
import * as Type from 'typebox'

const MAX_PRINT = 16 * 1024

/** A failure of the process of an MCP server that speaks stdio. */
export const processFault = defineFault({
  name: 'process',
  title: 'crash or suspend a stdio server',
  summary: 'crashes or suspends a stdio MCP server, or alters its output',
  schema: section({
    exit: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 255,
        description: 'Kills the server process, and ends Squall with this exit code.',
        examples: [1],
      }),
    ),
    at: oneOf(['request', 'response'], {
      default: 'request',
      description:
        'Sets when to `exit`. `request`: before the server receives the call. `response`: after the server has executed the call and half the response line is sent.',
    }),
    stop: Type.Optional(
      duration({
        description:
          'Suspends the server with SIGSTOP for this duration, before the server receives the call. All its other calls wait, too.',
        examples: ['5s'],
      }),
    ),
    print: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_PRINT,
        description:
          "Writes this text to the server's standard output, on separate lines, before the server receives the call.",
        examples: ['Listening on port 3000'],
      }),
    ),
    crlf: Type.Optional(
      Type.Boolean({
        description: 'Ends the response line with CRLF, as some servers on Windows do.',
        examples: [true],
      }),
    ),
  }),
  oneOf: ['exit', 'stop', 'print', 'crlf'],
  clientSees:
    'With `exit`, clients see a closed pipe. The TypeScript SDKs report `Connection closed` for each in-flight call and do not restart the server; desktop clients show the server as failed. With `stop`, clients receive no response until the duration ends or they time out. With `print`, clients receive a line that is not JSON, which the TypeScript SDKs report to `onerror`. With `crlf`, the TypeScript SDKs accept the line ending; readers that split at LF keep the CR. The fault acts only on stdio.',
  otherTools:
    'Chaos Mesh has `PodChaos` with `action: pod-kill`, and `StressChaos`, which slows down a whole server.',
  example: `- name: server-crashes
  match: { tool: index_files }
  percent: 5
  faults:
    - process: { exit: 1, at: response }`,
  check({ at, exit, crlf }) {
    const problems: ParameterProblem[] = []
    if (crlf === false) problems.push({ path: ['crlf'], message: 'must be `true` or absent' })
    if (at === 'response' && exit === undefined) {
      problems.push({ path: ['at'], message: '`at: response` requires `exit`' })
    }
    return problems
  },
  outlook({ exit, at, stop, print, crlf }, { call }) {
    if (call?.transport !== 'stdio') return { cannot: 'no_process' }
    if (crlf) {
      const does = 'the line with the response ends with CRLF'
      return isOther(call) ? NOTHING : { by: 'response', does }
    }
    if (exit === undefined) {
      const printed = `the server prints ${print?.length ?? 0} characters`
      const does =
        stop === undefined ? printed : `the server is suspended for ${durationText(stop)}`
      return { by: 'request', does }
    }
    const does = `the server ends with exit code ${exit}`
    if (at === 'request') return { by: 'request', does, asks: 'silence' }
    return isOther(call) ? NOTHING : { by: 'response', does: `${does} within the response` }
  },
  create(config): Fault {
    const { exit, at, crlf } = config
    const onRequest = (ctx: FaultContext): Verdict | Promise<Verdict> => {
      const { server } = ctx.host
      if (server === undefined) ctx.cannot('no_process')
      else if (at === 'request' && !crlf) return fail(ctx, server, config)
      return CONTINUE
    }
    if (crlf) return { onRequest, changes: true, ...changingLast(withCrlf) }
    if (exit === undefined || at === 'request') return { onRequest }
    return { onRequest, onResponse: (ctx, frames) => halfResponse(ctx, frames, exit) }
  },
})

type ProcessConfig = Parameters<typeof processFault.create>[0]

async function fail(
  ctx: FaultContext,
  server: ServerHandle,
  { exit, stop, print }: ProcessConfig,
): Promise<Verdict> {
  ctx.injected(exit === undefined ? undefined : `exit ${exit}`)
  if (exit !== undefined) {
    server.exit(exit)
    return { kind: 'hang' }
  }
  if (print !== undefined && !server.print(print)) ctx.cannot('memory')
  if (stop !== undefined) await ctx.sleep(stop).finally(server.suspend())
  return CONTINUE
}

/** Ends the line with the response by CR and LF. */
function withCrlf(ctx: FaultContext, frame: Frame): Frame | undefined {
  if (ctx.host.server === undefined || isOther(ctx.call)) return undefined
  ctx.injected()
  const text = Buffer.from(frame.raw).toString('latin1').replaceAll(/\r?\n/g, '\r\n')
  return { ...frame, raw: Buffer.from(text, 'latin1') }
}

/** Ends the server when its response is there; the client gets a half of it. */
async function* halfResponse(ctx: FaultContext, frames: Frames, code: number): Frames {
  const { server } = ctx.host
  // A resumed stream asks faults again.
  if (server === undefined) ctx.cannot('no_process')
  for await (const frame of frames) {
    if (server !== undefined && frame.last && !isOther(ctx.call)) {
      ctx.injected(`exit ${code}`)
      server.exit(code, halfOf(frame))
      return
    }
    yield frame
  }
}

function halfOf(frame: Frame): string {
  const text = frameText(frame) ?? ''
  return text.slice(0, Math.ceil(text.length / 2))
}
