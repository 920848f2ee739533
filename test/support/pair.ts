import { startRawApp, type RawApp, type RawAppOptions } from './raw-app.ts'
import { startSidecar, type RunningSidecar, type StartOptions } from './sidecar.ts'

/** An app and the sidecar in front of it. */
export interface Pair {
  readonly app: RawApp
  readonly squall: RunningSidecar
  close(): Promise<void>
}

/** Starts an app and a sidecar in front of it. */
export async function startPair(
  options: RawAppOptions = {},
  overrides: Partial<StartOptions> = {},
): Promise<Pair> {
  const app = await startRawApp(options)
  const squall = await startSidecar({ ...overrides, upstream: app.url })
  const close = async (): Promise<void> => {
    await squall.close()
    await app.close()
  }
  return { app, squall, close }
}
