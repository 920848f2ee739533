import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { asInvoked, oneLine, readVersion, shellWord } from '#base'
import { drainSignal, InterruptedError, print } from '#cli'
import { assemble, createLogger, namedOptions } from '#sidecar'
import { withToken } from '../cli/server-flags.ts'
import type { TryRequest } from '../commands/try.ts'
import { openEndpoint } from '../load/clients/open-endpoint.ts'
import { LoadError } from '../load/load-error.ts'
import { StartedServer } from './started-server.ts'
import { callFirst } from './two-calls.ts'

const LASTING = '15m'
const LOOK_MS = 200
const OWN = /^SQUALL_/
const NEVER = new Promise<never>(() => {})
const ERRORS = createLogger({ level: 'error', format: 'auto' })

type HeaderFields = Readonly<Record<string, string>>
type Closers = (() => unknown)[]

/** Shows a server with its first fault until a signal, or until the server ends. */
export async function trySquall(request: TryRequest): Promise<number> {
  const stop = drainSignal(ERRORS)
  process.on('SIGHUP', () => void process.emit('SIGTERM', 'SIGTERM'))
  const stopped = once(stop, 'abort')
  const closers: Closers = []
  let hasShown = false
  const steps = async (): Promise<never> => {
    const headers = await withToken(request.header, request.authTokenFile)
    const { url, started, ended } = await reached(request, headers, closers)
    const seen = await Promise.race([playFault(url, headers, request.tool, closers), ended])
    const transport = request.url === undefined && started?.initialized ? 'stdio' : 'http'
    const { json, command } = request
    await print(
      json ? `${JSON.stringify({ transport, ...seen })}\n` : textOf(seen, transport, command),
    )
    hasShown = true
    return ended
  }
  try {
    await Promise.race([steps(), stopped])
    if (hasShown) return 0
    throw new InterruptedError('interrupted before the first call')
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    throw new Error(error.message.replaceAll('--target', '--url'), { cause: error })
  } finally {
    for (const close of closers.toReversed()) await close()
  }
}

/** Starts the command, if there is one, and returns the URL at which the server speaks MCP. */
async function reached(
  { url: given, command, port, timeout, json }: TryRequest,
  headers: HeaderFields,
  closers: Closers,
): Promise<{
  readonly url: URL
  readonly started?: StartedServer
  readonly ended: Promise<never>
}> {
  if (given !== undefined) {
    await (await openEndpoint({ url: given, client: 'lean', headers }, readVersion())).close()
    return { url: given, ended: NEVER }
  }
  if (!json) process.stdout.write(`Starting ${oneLine(command.join(' '), 200)}\n`)
  const env = Object.entries(process.env).filter(([name]) => !OWN.test(name))
  const own = port === undefined ? {} : { PORT: String(port) }
  // Another program that has the port must not be mistaken for the server.
  const isTaken = port !== undefined && (await isOpen(port))
  const started = new StartedServer(command, { ...Object.fromEntries(env), ...own })
  const ended = hasEnded(started)
  ended.catch(() => {})
  closers.push(() => started.end())
  if (port !== undefined && !isTaken) started.addresses.add(`http://localhost:${port}`)
  const until = performance.now() + timeout
  while (performance.now() < until) {
    // Where another program has the port, the server ends, and must not be mistaken for it.
    await Promise.race([ended, wait(LOOK_MS)])
    if (started.initialized !== undefined) {
      const http = started.listen()
      closers.push(() => http.close().closeAllConnections())
      await once(http, 'listening')
      const { port: bound } = http.address() as AddressInfo
      return { url: new URL(`http://127.0.0.1:${bound}/mcp`), started, ended }
    }
    for (const address of started.addresses) {
      const url = await endpointAt(address, headers)
      if (url !== undefined) return { url, started, ended }
    }
  }
  printLast(started)
  const next = isTaken
    ? `port ${port} is in use: stop the other program, or choose another port with --port`
    : 'set its port with --port, or a longer --timeout'
  throw new Error(
    `no MCP server responded over stdio or at a printed address within ${timeout / 1000} s; ${next}`,
  )
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, 'localhost')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Returns the likely URL of a server at an address, when it speaks MCP there. */
async function endpointAt(address: string, headers: HeaderFields): Promise<URL | undefined> {
  const named = new URL(address.replace(/0\.0\.0\.0|\[::\]/, 'localhost'))
  for (const path of new Set([named.pathname, '/mcp', '/'])) {
    const url = new URL(path, named)
    // Other programs print ports, too: only a server that asks for credentials gets them.
    for (const shown of [{}, headers]) {
      try {
        await (await openEndpoint({ url, client: 'lean', headers: shown }, readVersion())).close()
        return url
      } catch (error) {
        if (!(error instanceof LoadError)) throw error
        if (error.code !== 'NEEDS_AUTH') break
        if (shown === headers) throw error
      }
    }
  }
  return undefined
}

async function hasEnded(started: StartedServer): Promise<never> {
  const how = await started.ended
  if (started.isEnding) return NEVER
  printLast(started)
  const isTaken = started.lines.some((line) =>
    /EADDRINUSE|address (?:is )?already in use/i.test(line),
  )
  const next = isTaken
    ? 'its port is in use: stop the other program or, if the server reads PORT, choose another port with --port'
    : 'run it without Squall to see why'
  throw new Error(`the server exited (${how}); ${next}`)
}

function printLast({ lines }: StartedServer): void {
  if (lines.length > 0)
    process.stderr.write(['The last lines of the server:', ...lines, ''].join('\n'))
}

/** Calls a tool through a sidecar on free ports, without and with a fault. */
async function playFault(
  upstream: URL,
  headers: HeaderFields,
  tool: string | undefined,
  closers: Closers,
) {
  const directory = await mkdtemp(join(tmpdir(), 'squall-try-'))
  closers.push(() => rm(directory, { recursive: true, force: true }))
  const adminTokenFile = join(directory, 'admin-token')
  await writeFile(adminTokenFile, randomBytes(16).toString('hex'), { mode: 0o600 })
  const flags = {
    listen: '127.0.0.1:0',
    admin: '127.0.0.1:0',
    upstream: upstream.origin,
    'admin-token-file': adminTokenFile,
  }
  const { listeners, ...sidecar } = await assemble(namedOptions(flags, process.env), ERRORS)
  closers.push(() => sidecar.close())
  const url = new URL(
    `${upstream.pathname}${upstream.search}`,
    `http://127.0.0.1:${listeners[0]!.port}`,
  )
  const endpoint = await openEndpoint({ url, client: 'lean', headers }, readVersion())
  closers.push(() => endpoint.close())
  const { call, first, again } = await callFirst(endpoint, tool)
  const faults = [{ abort: { status: 503 } }]
  const rule = { name: 'try', match: { tool: call.tool }, for: LASTING, faults }
  const added = sidecar.temporary!.add(rule)
  if ('rejected' in added) throw new Error(added.message)
  const second = await again(call)
  const admin = `127.0.0.1:${sidecar.admin!.port}`
  const page = `http://${admin}/`
  const calls = { tool: call.tool, arguments: call.args, withoutFault: first, withFault: second }
  return { server: endpoint.server, ...calls, page, url: url.href, admin, adminTokenFile }
}

function textOf(
  seen: Awaited<ReturnType<typeof playFault>>,
  transport: 'stdio' | 'http',
  command: readonly string[],
): string {
  const change = `--sidecar ${seen.admin} --admin-token-file ${shellWord(seen.adminTokenFile)}`
  const tool = oneLine(seen.tool, 100)
  // The server chooses the name, and people paste the command.
  const named = /^[\w./:-]+$/.test(tool) ? ` --tool ${tool}` : ''
  const asCommand = `
            or, as its command: squall stdio --rules rules.yaml -- ${command.map(shellWord).join(' ')}`
  return asInvoked(`
 server     ${seen.server}, by ${transport}
 call       ${tool} ${oneLine(JSON.stringify(seen.arguments), 100)} ${seen.withoutFault.text}
 fault      ${tool} responds with status 503, for ${LASTING}
 same call  ${seen.withFault.text}

 page       ${seen.page}
 client     give your client this URL: ${seen.url}${transport === 'stdio' ? asCommand : ''}

 Next, in another terminal:
 a fault    squall fault add ${change}${named} --delay 2s --for 5m
 no faults  squall fault clear ${change}
 agents     squall agents ${seen.admin}
 rules      squall init --target ${shellWord(seen.url)}
 for AI     squall mcp --help

 Ctrl-C stops everything.
`)
}
