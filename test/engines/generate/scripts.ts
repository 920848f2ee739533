import type { Random } from '../../support/random.ts'
import { MAX_HEADER_SIZE } from '../limits.ts'
import type { Script, Step } from '../script.ts'
import { cut, inPieces, largeResponse, oddResponse, plainResponse } from './responses.ts'
import { anyBody } from './bodies.ts'
import { anyKind, headText, nearKind, pipelinedKind } from './clients.ts'
import { callOf, Draft, otherRequest, plainCall, requestPieces } from './draft.ts'
import { largeRequest, oddRequest } from './odd-requests.ts'
import { HANGING } from './rules.ts'
import { strokes } from './strokes.ts'

/** Long enough to read the sent bytes and to respond, where the response ends a connection. */
const SETTLED: Step = { do: 'turns', count: 12 }

/** Calls one after the other on a connection that is kept, as most traffic is. */
function steady(random: Random): Script {
  const draft = new Draft()
  const first = anyKind(random)
  const length = random.chance(0.7) ? random.int(100, 300) : 0
  let kind = first
  for (let left = random.int(8, 36); left > 0; left--) {
    if (random.chance(0.15)) kind = random.chance(0.5) ? nearKind(random, first) : first
    const ask = random.chance(0.88)
      ? plainCall(random, draft, kind, random.chance(0.85) ? length : 0)
      : otherRequest(random, draft, kind)
    const gap = kind === first ? random.pick([0, 1, 1, 2, 3]) : 4
    draft.response(inPieces(random, plainResponse(random, ask.marker, ask.method), ask.marker))
    draft.send(requestPieces(random, ask), gap, [ask.method])
    draft.responded()
  }
  return draft.script('steady')
}

/** Requests that are not the plainest, each before a plain call on the same connection. */
function oddRequests(random: Random): Script {
  const draft = new Draft()
  const kind = anyKind(random)
  for (let left = random.int(1, 3); left > 0; left--) {
    if (random.chance(0.3)) {
      const ask = plainCall(random, draft, kind)
      draft.response(inPieces(random, plainResponse(random, ask.marker), ask.marker))
      draft.send([ask.head + ask.body], 0, ['POST'])
      draft.responded()
    }
    const marker = draft.nextMark()
    const ask = random.chance(0.06)
      ? largeRequest(random, marker, MAX_HEADER_SIZE)
      : oddRequest(random, marker)
    const response = random.chance(0.85) ? plainResponse : oddResponse
    draft.response(inPieces(random, response(random, marker, ask.method), marker))
    const waits = /expect/i.test(ask.head) && random.chance(0.8)
    const pieces = waits
      ? [ask.head, ask.body]
      : random.chance(0.6)
        ? [ask.head + ask.body]
        : requestPieces(random, ask)
    draft.send(pieces, 12, [ask.method])
    draft.responded()
    draft.step(SETTLED)
  }
  const last = plainCall(random, draft, kind)
  draft.send([last.head + last.body], 0, ['POST'])
  draft.responded()
  return draft.script('odd requests')
}

/** Unusual or broken responses, each before a plain one, on the same connection or a new one. */
function oddResponses(random: Random): Script {
  const draft = new Draft()
  const kind = anyKind(random)
  const length = random.int(100, 200)
  for (let left = random.int(1, 4); left > 0; left--) {
    const ask = plainCall(random, draft, kind, length)
    const odd = random.chance(0.05)
      ? largeResponse(random, MAX_HEADER_SIZE)
      : oddResponse(random, ask.marker)
    draft.response(inPieces(random, odd, ask.marker))
    draft.send([ask.head + ask.body], 0, ['POST'])
    draft.responded()
    draft.step(SETTLED)
    if (random.chance(0.4)) {
      const next = plainCall(random, draft, kind, length)
      draft.response(inPieces(random, plainResponse(random, next.marker), next.marker))
      draft.send([next.head + next.body], 0, ['POST'])
      draft.responded()
    }
    if (random.chance(0.3)) draft.nextClient()
  }
  return draft.script('odd responses')
}

/** Several requests in one go, with or without something behind them that is none. */
function pipelined(random: Random): Script {
  const draft = new Draft()
  const kind = pipelinedKind(random)
  const asks: string[] = []
  let bytes = ''
  for (let left = random.int(2, 5); left > 0; left--) {
    // Which of two responses is there first is a matter of chance: none of them may end the
    // connection.
    const tool = random.pick(['echo', 'echo', 'echo', 'aborted', 'erring', 'delayed'])
    const ask = random.chance(0.85)
      ? callOf(tool, draft, kind)
      : { ...oddRequest(random, draft.nextMark()), marker: -1 }
    if (ask.marker >= 0)
      draft.response(inPieces(random, plainResponse(random, ask.marker), ask.marker))
    bytes += ask.head + ask.body
    asks.push(ask.method)
  }
  if (random.chance(0.15))
    bytes += random.pick([
      '\r\n',
      'garbage\r\n\r\n',
      'G',
      'POST /mcp HTTP/1.1\r\nHost: pod\r\n',
      '\u0000',
    ])
  draft.send([bytes], 4, asks)
  draft.responded()
  return draft.script('pipelined')
}

/** Returns a script whose requests and responses are damaged by a few random mutations. */
function damaged(random: Random): Script {
  const draft = new Draft()
  const kind = anyKind(random)
  for (let left = random.int(1, 3); left > 0; left--) {
    const plain = plainCall(random, draft, kind, 120)
    const response = random.chance(0.7)
      ? plainResponse(random, plain.marker)
      : oddResponse(random, plain.marker)
    const both = random.int(0, 2)
    const text = both !== 1 ? strokes(random, plain.head + plain.body) : plain.head + plain.body
    draft.response(
      inPieces(
        random,
        both !== 0 ? { ...response, text: strokes(random, response.text) } : response,
        plain.marker,
      ),
    )
    draft.send(random.chance(0.7) ? [text] : cut(random, text, 3), 12, ['POST'])
    draft.responded()
    draft.step(SETTLED)
  }
  const last = plainCall(random, draft, kind, 120)
  draft.send([last.head + last.body], 0, ['POST'])
  draft.responded()
  return draft.script('damaged')
}

/** Bodies of any kind, also such as are too large to be read. */
function bodies(random: Random): Script {
  const draft = new Draft()
  const kind = anyKind(random)
  for (let left = random.int(2, 5); left > 0; left--) {
    const marker = draft.nextMark()
    const body = anyBody(random, marker, 'echo')
    const ask = { method: 'POST', head: headText(kind, body.length), body }
    draft.response(inPieces(random, plainResponse(random, marker), marker))
    draft.send(requestPieces(random, ask), random.pick([0, 1, 3]), ['POST'])
    draft.responded()
  }
  return draft.script('bodies')
}

/** One side leaves, or closes its half, somewhere in the middle. */
function endings(random: Random): Script {
  const draft = new Draft()
  const kind = anyKind(random)
  for (let left = random.int(0, 2); left > 0; left--) {
    const ask = plainCall(random, draft, kind)
    draft.response(inPieces(random, plainResponse(random, ask.marker), ask.marker))
    draft.send([ask.head + ask.body], 0, ['POST'])
    draft.responded()
  }
  const ask = random.chance(0.1) ? callOf(HANGING, draft, kind) : plainCall(random, draft, kind)
  const request = ask.head + ask.body
  const { text } = random.chance(0.8)
    ? plainResponse(random, ask.marker)
    : oddResponse(random, ask.marker)
  const at = random.int(0, text.length)
  const how = random.pick(['fin', 'rst'] as const)
  const marker = { marker: ask.marker, at: 'whole' as const, gap: 5 }
  switch (random.int(0, 3)) {
    case 0:
      draft.send([request.slice(0, random.int(0, request.length))], 0, [])
      draft.step(SETTLED)
      draft.step({ do: how })
      break
    case 1: {
      // The upstream has sent a part when the client leaves, and sends the rest when that is known.
      draft.send([request], 0, ['POST'])
      draft.step({ do: 'app', count: 1 })
      draft.step({ do: 'quiet' })
      draft.response({ ...marker, pieces: [text.slice(0, at)], end: 'keep' })
      draft.step({ do: how })
      break
    }
    case 2:
      // The client closes its half before the response.
      draft.send([request], 0, ['POST'])
      if (random.chance(0.5)) draft.step(SETTLED)
      draft.step({ do: 'fin' })
      draft.step(SETTLED)
      draft.response({ ...marker, pieces: [text], end: 'keep', after: draft.steps })
      break
    default:
      draft.response({ ...marker, pieces: [text.slice(0, at)], end: how })
      draft.send([request], 0, ['POST'])
      draft.responded()
      draft.step(SETTLED)
  }
  draft.nextClient()
  const last = plainCall(random, draft, kind)
  draft.send([last.head + last.body], 0, ['POST'])
  draft.responded()
  return draft.script('endings')
}

type Kinds = readonly (readonly [share: number, make: (random: Random) => Script])[]

const KINDS: Kinds = [
  [46, steady],
  [16, oddRequests],
  [16, oddResponses],
  [6, pipelined],
  [12, damaged],
  [5, bodies],
  [7, endings],
]

/** Kinds in which no request is sent while another still waits for its response. */
const CALM: Kinds = [
  [60, steady],
  [20, oddResponses],
  [20, endings],
]

/** Thinks up a script, if so a calm one. */
export function anyScript(random: Random, calm: boolean): Script {
  const kinds = calm ? CALM : KINDS
  let draw = random.next() * kinds.reduce((sum, [share]) => sum + share, 0)
  for (const [share, make] of kinds) {
    draw -= share
    if (draw < 0) return make(random)
  }
  return steady(random)
}
