import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { shellWord } from '#base'
import type { Running } from '#sidecar'
import type { Player } from './player.ts'
import { serveLines } from './serve-lines.ts'

/** Connects standard streams with a socket. */
const PIPE =
  'const s=require("net").connect(process.argv[1]);s.on("error",()=>process.exit(1));process.stdin.pipe(s).pipe(process.stdout)'

/**
 * Writes a program that serves a tape by stdio, for clients that start their server themselves. Each
 * start of it gets a port of the sidecar, whose rules and counts all of them share.
 */
export async function serveStdio(player: Player, sidecar: Running['sidecar']) {
  // The path of a socket has at most 107 bytes.
  const parent = Buffer.byteLength(tmpdir()) > 80 ? '/tmp' : tmpdir()
  const directory = await mkdtemp(join(parent, 'squall-'))
  const [program, front, back] = ['server', 'front', 'back'].map((name) => join(directory, name))
  const stop = new AbortController()
  const serving = new Set<Promise<void>>()
  const servers: Server[] = []
  const listen = async (path: string, serve: (socket: Socket) => Promise<unknown>) => {
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined)
      stop.signal.addEventListener('abort', () => socket.destroy())
      const own = serve(socket).then(
        () => void socket.end(),
        () => void socket.destroy(),
      )
      serving.add(own)
      void own.then(() => serving.delete(own))
    })
    servers.push(server)
    await once(server.listen(path), 'listening')
  }
  const close = async (): Promise<void> => {
    for (const server of servers) server.close()
    stop.abort()
    await Promise.all(serving)
    await rm(directory, { recursive: true, force: true })
  }
  const pipeTo = (path: string): string[] => ['-e', PIPE, path]
  try {
    await listen(back!, (socket) => serveLines(player, socket, socket, stop.signal))
    await listen(front!, async (socket) => {
      const pipes = { input: socket, output: socket, errors: new PassThrough().resume() }
      const command = { command: process.execPath, args: pipeTo(back!) }
      return (await sidecar.attach(command, pipes)).carry()
    })
    const script = ['exec', ...[process.execPath, ...pipeTo(front!)].map(shellWord)].join(' ')
    await writeFile(program!, `#!/bin/sh\n${script}\n`, { mode: 0o700 })
  } catch (error) {
    await close()
    throw error
  }
  return { program: program!, close }
}
