import type { AppSeen, ClientSeen, Observed } from './observed.ts'
import type { Script } from './script.ts'
import { MessageScanner } from './message-scanner.ts'
import { joinChunks } from './chunked-text.ts'

/** A script that the two engines played differently. */
export interface Difference {
  /** The seed, the block and the number of the script, for a replay. */
  readonly place: string
  readonly script: Script
  /** The parts that differ, as both engines showed them. */
  readonly parts: readonly string[]
}

/** The settings of a comparison of two plays. */
export interface Comparison {
  readonly script: Script
  /** The limit of connections to the upstream is one. */
  readonly narrow: boolean
  /** The first engine had clients that wait where those of the second one did not. */
  readonly patient: boolean
}

/**
 * Returns the parts that differ between the engines, `standard` first. Only the differences listed
 * here are allowed; everything else must be the same to the byte.
 *
 * Not observed:
 * - durations: the comparison includes that a duration was counted, but not its value;
 * - where TCP cuts a stream of bytes: each connection's bytes are compared as one text;
 * - the order of the counts in one script.
 *
 * Ignored by this comparison:
 * - which upstream connection carries a request, and so the number of connections. Each engine has
 *   its own connections for its requests; see `requestsAtApp` and `appDifferences`;
 * - whether an idle upstream connection is ended. At the connection limit, an idle connection of
 *   one kind is ended to make room for one of the other kind. When an upstream sends line breaks
 *   after a response, the standard path ignores them, and the fast path ends the connection;
 * - where the chunks end of a request whose body is longer than the part that is held: the body is
 *   passed on as it is read, and TCP determines the reads; see `joinChunks`.
 *
 * Ignored by comparing with another script or another result:
 * - when bytes are read that follow a request still waiting for its response, and are no plain
 *   request. The standard path reads them at once: it may reject them, and with them the requests
 *   before, unless the responses are faster. The fast path reads them after all responses before
 *   them. When such a script is played differently, the second engine must do with it what the
 *   first one does with the same script by a client that waits for each response; see `polite`;
 * - in such a script, whether Squall's own responses leave before the rejection of the bytes that
 *   follow in the same piece. While node:http reads from a socket, due callbacks run between two
 *   bodies. Bytes that the fast path hands over are read in one go; see `receivedApart`;
 * - how much of a long response arrives before the reset that reports its failure. A reset drops
 *   the bytes that have not left yet; one engine may have waited for the client in between, and
 *   so sent more. The same applies when the bytes after a request end the connection in the middle
 *   of the response; see `endedAsSoon`;
 * - whether a request was complete that is behind a response that closes the connection: node:http
 *   closes it after a response without a prior `100 Continue`, when both requests are at the
 *   upstream. Which upstream response comes first depends on their connections; see `unsent`.
 */
export function differences(standard: Observed, fast: Observed, how: Comparison): string[] {
  const clients = how.patient ? refusedAsSoon(standard.clients, fast.clients) : standard.clients
  const rejected = [standard, fast].every(({ told }) => told.includes('rejected bad_request'))
  const ended = endedAsSoon(clients, fast.clients, rejected)
  const dropped = unsent(standard, fast, how.script)
  const told = without(standard.told, dropped)
  return [
    ...listDifferences('client', ended, fast.clients, (seen) => clientParts(seen, how.patient)),
    ...appDifferences(standard, fast, how, dropped),
    ...setDifferences('told', told, without(fast.told, dropped)),
    ...setDifferences('left', standard.left, fast.left),
  ]
}

/**
 * Returns each request with the state of its connection after it: kept, for the next request or for
 * none, or ended. A connection on which nothing was sent counts as no request.
 */
function requestsAtApp(connections: readonly AppSeen[], idleEnds: boolean): string[] {
  return connections.flatMap(({ requests, end }) => {
    const last = idleEnds && end === 'fin' ? 'kept' : end
    return requests.map((text, at) => {
      const closeState = at === requests.length - 1 ? last : 'kept'
      return `${closeState} ${joinChunks(text)}`
    })
  })
}

/** A rejected request: no connection was opened for it where none was ready. */
const REJECTED = /^http [a-z]+ 4\d\d squall$/
/** A call or a request that nobody waited for any more. */
const DROPPED = /^(?:call .* (?:cancelled|abandoned) |http [a-z]+ 0 )/

/** Matches the record of a dropped request up to its outcome. */
const UNSENT = /^(?:call .*(?= abandoned )|http [a-z]+(?= 0 ))/

const CLOSES = /^HTTP\/1\.1 (?:(?!\r\n\r\n)[^])*\r\nConnection: close\r\n/

/**
 * Returns the records, in pairs, of requests that one engine dropped and the other one completed,
 * though their responses could no longer be sent. Each connection allows as many as it had requests
 * behind the response that closed it.
 */
function unsent(standard: Observed, fast: Observed, { clients }: Script): string[] {
  let allowed = 0
  for (const [at, steps] of clients.entries()) {
    const responses = fast.clients[at]?.received.split(RESPONSE_BEGINS) ?? []
    if (!CLOSES.test(responses.at(-1) ?? '')) continue
    const asked = steps.flatMap((step) => (step.do === 'send' ? (step.asks ?? []) : []))
    allowed += Math.max(0, asked.length - responses.length)
  }
  const [left, right] = [without(standard.told, fast.told), without(fast.told, standard.told)]
  const found = [...pairs(left, right), ...pairs(right, left)]
  return found.slice(0, allowed).flat()
}

/** Returns the dropped requests of a list, each with its record in the other list. */
function pairs(list: readonly string[], others: readonly string[]): string[][] {
  return list.flatMap((text) => {
    const request = UNSENT.exec(text)?.[0]
    const other = others.find((one) => request !== undefined && one.startsWith(`${request} `))
    return other === undefined ? [] : [[text, other]]
  })
}

/**
 * Compares the requests at the upstream. A request that is dropped in the turn in which it was read
 * has been sent if a connection was ready, but not if one had to be opened. Its connection ends
 * with it: one that had carried another request, or one that was opened for it and carried none.
 */
function appDifferences(
  standard: Observed,
  fast: Observed,
  how: Comparison,
  unsentPairs: readonly string[],
): string[] {
  const idleEnds = how.narrow || hasBlankLinesBehind(how.script)
  const one = requestsAtApp(standard.app, idleEnds)
  const other = requestsAtApp(fast.app, idleEnds)
  let [left, right] = [without(one, other), without(other, one)]
  if (idleEnds) [left, right] = [asEnded(left, standard.app), asEnded(right, fast.app)]
  const told = without(fast.told, unsentPairs)
  const rejected = told.filter((text) => REJECTED.test(text)).length
  const dropped = [...told, ...unsentPairs].filter((text) => DROPPED.test(text)).length + rejected
  const [endedLeft, endedRight] = [textsOf(left, false), textsOf(right, false)]
  const [keptLeft, keptRight] = [textsOf(left, true), textsOf(right, true)]
  const withoutOwn = unsentPairs.length / 2 + rejected
  // A connection kept by one engine only has ended with the other, and another in its place.
  const same =
    Math.abs(left.length - right.length) <= dropped - rejected &&
    without(keptLeft, endedRight).length === 0 &&
    without(keptRight, endedLeft).length === 0 &&
    keptRight.length <= keptLeft.length + endedUnused(fast.app) + withoutOwn &&
    keptLeft.length <= keptRight.length + endedUnused(standard.app) + withoutOwn
  if (same && Math.max(endedLeft.length, endedRight.length) <= dropped) return []
  return setDifferences('at the upstream', one, other)
}

/** Relabels a request from `kept` to `fin` if a connection ended behind it and was not idle. */
function asEnded(requests: readonly string[], connections: readonly AppSeen[]): string[] {
  const ended = textsOf(requestsAtApp(connections, false), false).map((text) => `kept ${text}`)
  return requests.map((text) => (ended.includes(text) ? text.replace('kept', 'fin') : text))
}

/** The requests behind which a connection was kept, or those behind which it was not. */
function textsOf(requests: readonly string[], kept: boolean): string[] {
  const those = requests.filter((text) => text.startsWith('kept ') === kept)
  return those.map((text) => text.slice(text.indexOf(' ') + 1))
}

/** Connections that the sidecar made, and ended without a byte on them. */
function endedUnused(connections: readonly AppSeen[]): number {
  return connections.filter(({ requests, end }) => requests.length === 0 && end !== 'kept').length
}

/** A response with line breaks behind it, and with nothing else. */
function hasBlankLinesBehind({ responses }: Script): boolean {
  return responses.some(({ pieces }) => {
    let responded = false
    const scanner = new MessageScanner({ message: () => (responded = true) }, ['POST'])
    scanner.push(pieces.join(''))
    return responded && /^[\r\n]+$/.test(scanner.rest)
  })
}

/**
 * Ignores whether a client had received what it waited for, or an end, when it sent more: this
 * depends on turns of the event loop. A wait that ended with neither still counts.
 */
function clientParts({ waits, ...seen }: ClientSeen, patient: boolean): Record<string, string> {
  return patient ? seen : { ...seen, waits: waits.replaceAll('e', 'm') }
}

const RESPONSE_BEGINS = /(?=HTTP\/1\.1 \d{3} )/
const REFUSAL = /^HTTP\/1\.1 400 [^]*\r\nx-squall-error: bad_request\r\n/
const OWN_RESPONSE = /^HTTP\/1\.1 (?:(?!\r\n\r\n)[^])*\r\nx-squall-(?:fault|error): /

/** Returns the first engine's clients as if its rejections had left as soon as the second one's. */
function refusedAsSoon(
  standard: readonly ClientSeen[],
  fast: readonly ClientSeen[],
): readonly ClientSeen[] {
  return standard.map((seen, at) => {
    const wanted = fast[at]?.received
    return wanted !== undefined && receivedApart(seen.received, wanted)
      ? { ...seen, received: wanted }
      : seen
  })
}

/** A response that is shorter has been sent in full before its end is known. */
const LEFT_AT_ONCE = 31 * 1024

/** Returns the first engine's clients as if they had received as much as the second one's. */
function endedAsSoon(
  standard: readonly ClientSeen[],
  fast: readonly ClientSeen[],
  rejected: boolean,
): readonly ClientSeen[] {
  return standard.map((seen, at) => {
    const other = fast[at]
    if (other === undefined || seen.end === 'kept' || other.end === 'kept') return seen
    // When unread bytes have arrived, chance decides whether the connection ends by a reset.
    if (!rejected && (seen.end === 'fin' || other.end === 'fin')) return seen
    const [short, long] = [seen.received, other.received].sort((a, b) => a.length - b.length)
    const isCut = short!.length > LEFT_AT_ONCE && long!.startsWith(short!)
    return isCut ? { ...other, waits: seen.waits, after: seen.after } : seen
  })
}

/** Both end in the same rejection; `fast` lacks only responses of Squall's own before it. */
function receivedApart(standard: string, fast: string): boolean {
  const responses = standard.split(RESPONSE_BEGINS)
  const refusal = responses.pop()
  if (refusal === undefined || !REFUSAL.test(refusal)) return false
  while (responses.length > 0 && OWN_RESPONSE.test(responses.pop()!)) {
    if (responses.join('') + refusal === fast) return true
  }
  return false
}

function listDifferences<T>(
  name: string,
  standard: readonly T[],
  fast: readonly T[],
  partsOf: (item: T) => Record<string, string>,
): string[] {
  const found: string[] = []
  for (let i = 0; i < Math.max(standard.length, fast.length); i++) {
    const [one, other] = [standard[i], fast[i]]
    const left = one === undefined ? {} : partsOf(one)
    const right = other === undefined ? {} : partsOf(other)
    for (const key of Object.keys({ ...left, ...right })) {
      if (left[key] === right[key]) continue
      found.push(`${name} ${i} ${key}: ${apart(left[key], right[key])}`)
    }
  }
  return found
}

/** Returns the items that only one of the lists contains, in any order. */
function setDifferences(
  name: string,
  standard: readonly string[],
  fast: readonly string[],
): string[] {
  const [left, right] = [without(standard, fast), without(fast, standard)]
  const found: string[] = []
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    found.push(`${name}: ${apart(left[i], right[i])}`)
  }
  return found
}

function without(items: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return items.filter((item) => {
    const at = left.indexOf(item)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** Two texts from a little before the place where they part. */
function apart(left: string | undefined, right: string | undefined): string {
  let at = 0
  if (left !== undefined && right !== undefined) {
    while (at < left.length && left[at] === right[at]) at++
  }
  const from = Math.max(0, at - 60)
  const piece = (text: string | undefined): string =>
    text === undefined ? 'nothing' : JSON.stringify(text.slice(from, at + 160))
  return `at byte ${at}\n    standard ${piece(left)}\n    fast  ${piece(right)}`
}
