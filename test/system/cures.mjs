// Plays a client of the TypeScript SDK as cures.py plays those of Python: cures.mjs v1|v2
import { text } from 'node:stream/consumers'

/* global console, process */
const [version] = process.argv.slice(2)
const { Client, StreamableHTTPClientTransport } =
  version === 'v2'
    ? await import('@modelcontextprotocol/client')
    : {
        ...(await import('@modelcontextprotocol/sdk/client/index.js')),
        ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
      }

async function connect(url, options) {
  const client = new Client({ name: `cures-${version}`, version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), options))
  return client
}

async function play({ url, topic, cured, tool, args, times }) {
  const cure = cured ? await import(`../../examples/cures/${topic}-typescript.mjs`) : {}
  const params = { name: tool, arguments: args }
  const callTool = cure.inSessions?.(() => connect(url))
  const client = callTool === undefined ? await connect(url, { fetch: cure.patientFetch }) : {}
  // Squall reads in the list what the tools declare.
  await client.listTools?.()
  const plain = () => client.callTool(params)
  const limited = version === 'v2' ? cure.callToolV2 : cure.callToolV1
  const ways = {
    'back-off': () => cure.withBackOff(plain),
    'retry-after': plain,
    'idempotency-key': () => cure.createTicket(client, args.title),
    'time-limit': () => limited(client, params),
    session: () => callTool(params),
  }
  for (let n = 0; n < times; n++) {
    await (cured ? ways[topic]() : plain()).catch((error) => console.error(topic, cured, error))
  }
}

const asked = JSON.parse(await text(process.stdin))
const ended = asked.map(() => false)
const plays = asked.map((each, n) => play(each).then(() => (ended[n] = true)))
const mayWait = ({ topic, cured }) => topic === 'time-limit' && !cured
await Promise.all(plays.filter((_, n) => !mayWait(asked[n])))
console.log(JSON.stringify(ended))
process.exit()
