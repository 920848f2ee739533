import type { AppResponse, Script, Step } from '../script.ts'
import { markText } from '../script.ts'
import { toolCall } from './bodies.ts'

const BODY = toolCall(0, 'echo')
const KIND = 'Host: pod\r\nContent-Type: application/json\r\n'

/** Requests that are cut and left at each of their bytes. */
const REQUESTS: readonly string[] = [
  `POST /mcp HTTP/1.1\r\n${KIND}Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
  `POST /mcp HTTP/1.1\r\n${KIND}Transfer-Encoding: chunked\r\n\r\n8\r\n${BODY.slice(0, 8)}\r\n${(BODY.length - 8).toString(16)}\r\n${BODY.slice(8)}\r\n0\r\nX-T: 1\r\n\r\n`,
  `GET /mcp?k=${markText(0)} HTTP/1.1\r\nHost: pod\r\nAccept: text/event-stream\r\nConnection: keep-alive\r\n\r\n`,
  `POST /mcp HTTP/1.0\r\n${KIND}Connection: keep-alive\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
]

const RESULT = '{"jsonrpc":"2.0","id":0,"result":{"content":[]}}'
const EVENT = `data: ${RESULT}\n\n`

/** Responses that are cut and broken off at each of their bytes. */
const RESPONSES: readonly string[] = [
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${RESULT.length}\r\n\r\n${RESULT}`,
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\n${RESULT.slice(0, 5)}\r\n${(RESULT.length - 5).toString(16).toUpperCase()}\r\n${RESULT.slice(5)}\r\n0\r\nX-T: 1\r\n\r\n`,
  `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${EVENT.length.toString(16)}\r\n${EVENT}\r\n0\r\n\r\n`,
  `HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.0 200 OK\r\nServer: x\r\nConnection: close\r\n\r\n${RESULT}`,
  'HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n',
]

const USUAL = RESPONSES[0]!
const SETTLED: Step = { do: 'turns', count: 12 }
const WAYS = ['cut', 'fin', 'rst'] as const
const SIDES = [
  ...REQUESTS.map((text) => ({ client: true, text })),
  ...RESPONSES.map((text) => ({ client: false, text })),
]
const PER_BYTE = WAYS.length

/** The number of scripts. */
export const SWEEPS = SIDES.reduce((sum, { text }) => sum + (text.length + 1) * PER_BYTE, 0)

/** The script at a place in the sweep. */
export function sweepScript(place: number): Script {
  let left = place
  for (const { client, text } of SIDES) {
    const size = (text.length + 1) * PER_BYTE
    if (left < size) {
      const at = Math.floor(left / PER_BYTE)
      const way = WAYS[left % PER_BYTE]!
      return client ? leftAt(text, at, way) : brokenAt(text, at, way)
    }
    left -= size
  }
  throw new RangeError(`there is no script ${place}`)
}

/** A request that comes in two pieces, or whose client leaves between these. */
function leftAt(text: string, at: number, way: (typeof WAYS)[number]): Script {
  const asks = [text.slice(0, text.indexOf(' '))]
  const rest: Step[] =
    way === 'cut'
      ? [
          { do: 'send', bytes: text.slice(at), asks },
          { do: 'responses', count: 1 },
        ]
      : [{ do: way }]
  const first: Step = { do: 'send', bytes: text.slice(0, at) }
  const steps = at === 0 ? [SETTLED, ...rest] : [first, SETTLED, ...rest]
  const again: Step[] = [
    { do: 'send', bytes: text, asks },
    { do: 'responses', count: 1 },
  ]
  const clients =
    way === 'cut'
      ? [[...steps, { do: 'send', bytes: text, asks }, { do: 'responses', count: 2 }] as Step[]]
      : [steps, again]
  // A client that leaves after the last byte gets no response any more.
  const hold = way === 'cut' ? {} : { after: steps.length + 1 }
  return {
    about: `request ${way}`,
    clients,
    responses: [{ marker: 0, at: 'whole', pieces: [USUAL], gap: 0, end: 'keep', ...hold }],
    slow: false,
  }
}

/** A response that comes in two pieces, or is broken off between these. */
function brokenAt(text: string, at: number, way: (typeof WAYS)[number]): Script {
  const request = REQUESTS[0]!
  const ask: Step = { do: 'send', bytes: request, asks: ['POST'] }
  const pieces = way === 'cut' ? [text.slice(0, at), text.slice(at)] : [text.slice(0, at)]
  const response: AppResponse = {
    marker: 0,
    at: 'whole',
    pieces: pieces.filter((piece) => piece !== ''),
    gap: 3,
    end: way === 'cut' ? (text.includes('close') ? 'fin' : 'keep') : way,
  }
  return {
    about: `answer ${way}`,
    clients: [
      [ask, { do: 'responses', count: 1 }, SETTLED],
      [ask, { do: 'responses', count: 1 }],
    ],
    responses: [response],
    slow: false,
  }
}
