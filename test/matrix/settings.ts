/** A way in which a server responds. */
export interface Setting {
  readonly id: SettingId
  readonly title: string
  readonly transport: 'streamableHttp' | 'sse'
  readonly isModern: boolean
}

/** The name of a way in which a server responds. */
export type SettingId = 'json' | 'sse' | 'resumable' | 'push' | 'modern-json' | 'modern-sse'

/** The name of a client. */
export type ClientId = 'v1' | 'v2' | 'auto'

/** All ways, in the order of the page. */
export const SETTINGS: readonly Setting[] = [
  { id: 'json', title: 'JSON', transport: 'streamableHttp', isModern: false },
  { id: 'sse', title: 'SSE', transport: 'streamableHttp', isModern: false },
  { id: 'resumable', title: 'SSE with ids', transport: 'streamableHttp', isModern: false },
  { id: 'push', title: 'HTTP+SSE', transport: 'sse', isModern: false },
  { id: 'modern-json', title: '2026 JSON', transport: 'streamableHttp', isModern: true },
  { id: 'modern-sse', title: '2026 SSE', transport: 'streamableHttp', isModern: true },
]

/** All clients, in the order of the page. */
export const CLIENTS: readonly ClientId[] = ['v1', 'v2', 'auto']

/** The clients that speak a server's protocol version. */
export function clientsOf({ isModern }: Setting): readonly ClientId[] {
  return isModern ? ['auto'] : CLIENTS
}

/** The settings in which the client of the Python SDK is measured. */
export const PYTHON_SETTINGS = SETTINGS.filter(({ transport }) => transport === 'streamableHttp')
