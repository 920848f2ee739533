// An agent with a script in place of a model: finds a flight, books it, sends a receipt. The argument
// names its weakness; without one it is careful: it has time-outs, repeats reads, checks what it
// reads, and ends with exit code 1 where it cannot go on.
import { appendFileSync } from 'node:fs'

const weakness = process.argv[2] ?? 'none'
const url = process.env['MCP_URL']
const TIMEOUT_MS = 3000
const MAX_TIMEOUT_MS = 10_000
/** None for the first request, whose time shows how busy the machine is. */
let patienceMs = 0
// A reader that is gone does not end it.
process.stderr.on('error', () => undefined)
/** The file in which each start is named by its cell and server. */
const starts = process.env['AGENT_STARTS']
if (starts !== undefined) appendFileSync(starts, `${process.env['SQUALL_CELL']} ${url}\n`)
/** The file in which cells are named once the agent waits for ever. */
const waiting = process.env['AGENT_WAITING']
let session
let id = 0

async function post(message, timeoutMs = patienceMs) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(session && { 'mcp-session-id': session }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    ...(timeoutMs > 0 && { signal: AbortSignal.timeout(timeoutMs) }),
  })
  session = response.headers.get('mcp-session-id') ?? session
  const text = await response.text()
  if (!response.ok)
    throw Object.assign(new Error(`status ${response.status}`), { status: response.status })
  const data = text.startsWith('{') ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? 'null')
  return JSON.parse(data)
}

async function connect() {
  session = undefined
  const params = {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'scripted', version: '1' },
  }
  const began = performance.now()
  await post({ id: ++id, method: 'initialize', params })
  const busyMs = Math.ceil(20 * (performance.now() - began))
  patienceMs ||= Math.min(MAX_TIMEOUT_MS, Math.max(TIMEOUT_MS, busyMs))
  await post({ method: 'notifications/initialized' })
}

async function once(tool, args) {
  const waitsForEver = weakness === `no-timeout:${tool}`
  const timeoutMs = waitsForEver ? 0 : patienceMs
  // It does not notice either that its server is gone.
  const stays = setInterval(() => undefined, 1000)
  if (!waitsForEver) clearInterval(stays)
  else if (waiting !== undefined) appendFileSync(waiting, `${process.env['SQUALL_CELL']}\n`)
  const { result, error } = await post(
    { id: ++id, method: 'tools/call', params: { name: tool, arguments: args } },
    timeoutMs,
  )
  clearInterval(stays)
  if (error !== undefined) throw new Error(error.message)
  if (result.isError === true) {
    if (weakness === `ignores-errors:${tool}`) return {}
    throw new Error(result.content?.[0]?.text ?? 'no text')
  }
  return result.structuredContent ?? JSON.parse(result.content?.[0]?.text ?? '{}')
}

async function call(tool, args, { isSafe, check }) {
  for (let attempt = 1; ; attempt++) {
    try {
      const found = await once(tool, args)
      if (weakness !== `ignores-errors:${tool}` && !check(found))
        throw new Error('a strange result')
      return found
    } catch (error) {
      // It plans anew, and again.
      if (weakness === `loops:${tool}`) {
        for (;;) await once('search_flights', { from: 'OSL', to: 'LIS' })
      }
      const mayRepeat = isSafe || error.status === 429 || weakness === `repeats:${tool}`
      if (weakness === `gives-up:${tool}` || !mayRepeat || attempt >= 3) throw error
      if (error.status === 404 && weakness !== 'one-session') await connect()
    }
  }
}

try {
  await connect()
  const flights = await call(
    'search_flights',
    { from: 'OSL', to: 'LIS' },
    { isSafe: true, check: ({ flights: all }) => Array.isArray(all) && all[0]?.id !== undefined },
  )
  const ids = flights.flights.map((each) => each.id)
  const priced = async (flight) => {
    // The order of parallel calls differs from run to run.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
    const check = ({ price: found }) => typeof found === 'number'
    const { price = 9999 } = await call('get_price', { flight }, { isSafe: true, check })
    return { flight, price }
  }
  const [{ flight, price }] = (await Promise.all(ids.map(priced))).sort((a, b) => a.price - b.price)
  const { booking } = await call(
    'book_flight',
    { flight, price },
    { isSafe: false, check: ({ booking: found }) => typeof found === 'string' },
  )
  await call('send_receipt', { booking }, { isSafe: false, check: ({ sent }) => sent === true })
  process.stdout.write(`booked ${flight} for ${price}: ${booking}\n`)
} catch (error) {
  if (weakness === 'hides-errors') process.stdout.write('done\n')
  else {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  }
}
