import { startSidecar } from '../support/wire.ts'

/** Plays a scenario against a server itself and then through a sidecar before it. */
export async function playTwice<T>(
  url: string,
  play: (url: string) => Promise<T>,
): Promise<{ direct: T; throughSquall: T }> {
  const { origin, pathname } = new URL(url)
  const direct = await play(url)
  const sidecar = await startSidecar({ upstream: origin })
  try {
    return { direct, throughSquall: await play(new URL(pathname, sidecar.url).href) }
  } finally {
    await sidecar.close()
  }
}
