import type { RequestListener } from 'node:http'
import type { ServerOptions } from 'node:https'
import { Server, type ListenOptions } from 'node:net'
import type { SettingId } from '../../matrix/settings.ts'
import type { EverythingMode } from './servers/everything.ts'
import { httpServer, listening, type HttpApp } from './http-app.ts'
import { rawServer, type RawApp, type RawAppOptions } from './raw-app.ts'
import {
  scriptedServer,
  type CallScript,
  type ScriptedServer,
  type Step,
} from './scripted-server.ts'

/** Real MCP servers by name. Their SDKs are loaded only where one is started. */
const SERVERS = {
  /** SDK v1 with sessions; its tools drop streams and wait for cancellation. */
  session: async () => (await import('./servers/session-server.ts')).sessionServer(),
  /** SDK v2, protocol version 2026-07-28; `mount` wraps its listener. */
  modern: async (mount?: (inner: RequestListener) => RequestListener) =>
    (await import('./servers/modern-server.ts')).modernServer(mount),
  /** Everything that the conformance suite asks for. */
  conformance: async () => (await import('./servers/conformance-server.ts')).conformanceServer(),
  /** The reference server in its own process. */
  everything: async (mode: EverythingMode) =>
    (await import('./servers/everything.ts')).referenceServer(mode),
  /** SDK servers of the client matrix, which can be asked to fail really. */
  matrix: async (setting: SettingId) =>
    (await import('../../matrix/host.ts')).matrixServer(setting),
  /** The server of the examples, in its own process, with flags of its own. */
  example: async (...flags: string[]) =>
    (await import('../../examples/example-server.ts')).exampleServer(flags),
  /** Counts how often each of `count` numbered calls was executed. */
  counting: async (count: number) =>
    (await import('../../truth/scripted-app.ts')).countingServer(count),
  /** PostgreSQL in its own process. */
  postgres: async (port?: number) => (await import('../../system/postgres.ts')).startPostgres(port),
  /** An MCP server in its own process, whose tools need the PostgreSQL at a port of loopback. */
  docs: async (databasePort: number, port?: number) =>
    (await import('../../system/postgres.ts')).startDocsServer(databasePort, port),
  /** Receives spans by OTLP, decoded by the official definitions. */
  collector: async () => (await import('./servers/collector.ts')).startCollector(),
  /** Ends each call by a list of steps; the last step repeats. */
  scripted: (
    script: readonly Step[] | CallScript,
    tools?: readonly object[],
  ): Promise<ScriptedServer> => scriptedServer(script, tools),
}

type Servers = typeof SERVERS

/**
 * Starts a server on a free port of loopback: a `node:http` listener, a server of Node, a script
 * over plain sockets, or one of the MCP servers above.
 */
export function startUpstream<S extends Server>(
  server: S,
  listen?: ListenOptions,
): Promise<HttpApp<S>>
export function startUpstream(
  listener: RequestListener,
  listen?: ListenOptions,
  tls?: ServerOptions,
): Promise<HttpApp>
export function startUpstream(options: RawAppOptions): Promise<RawApp>
export function startUpstream(either: RequestListener | RawAppOptions): Promise<HttpApp | RawApp>
export function startUpstream<K extends keyof Servers>(
  server: K,
  ...args: Parameters<Servers[K]>
): ReturnType<Servers[K]>
export function startUpstream(
  kind: RequestListener | Server | RawAppOptions | keyof Servers,
  ...args: unknown[]
): Promise<unknown> {
  if (typeof kind === 'string') {
    return (SERVERS[kind] as (...args: unknown[]) => Promise<unknown>)(...args)
  }
  if (typeof kind === 'function')
    return httpServer(kind, ...(args as [ListenOptions?, ServerOptions?]))
  if (kind instanceof Server) return listening(kind, args[0] as ListenOptions | undefined)
  return rawServer(kind)
}
