import { type AdminEndpoint, endpointText } from '#admin-api'
import { type Board } from './sidecar-view.ts'
import {
  type Change,
  changeArming,
  type Controls,
  INITIAL_CONTROLS,
  type KeyContext,
  keysOf,
  press,
} from './controls.ts'
import { type FeedOptions, watchFleet } from './feed.ts'
import { mostScroll, renderScreen } from './screen/screen.ts'
import { type Input, onStopSignal, openTerminal, type Output } from '#cli'

export interface LiveOptions {
  readonly endpoints: readonly AdminEndpoint[]
  readonly token: string | undefined
  readonly readToken?: string | undefined
  readonly colours: boolean
  readonly output: Output
  readonly input: Input
  readonly times?: Pick<FeedOptions, 'silenceMs' | 'retryMs'>
}

const EVERY_MS = 1_000

/** Shows an interactive screen until the user quits. */
export function topLive(options: LiveOptions): Promise<number> {
  const { endpoints, token, readToken, colours, output, input, times } = options
  return new Promise((resolve, reject) => {
    const addresses = endpoints.map(endpointText)
    const context = (): KeyContext => {
      const { width, height } = terminal
      const most = mostScroll(pausedBoard ?? fleet.board(), { width, height, ...controls })
      return { addresses, hasToken: token !== undefined, page: Math.max(1, height - 4), most }
    }
    let controls: Controls = INITIAL_CONTROLS
    let pausedBoard: Board | undefined
    let links = ''

    const draw = (): void => {
      const { width, height } = terminal
      const board = pausedBoard ?? fleet.board()
      terminal.draw(renderScreen(board, { width, height, ...controls }))
    }
    const guarded =
      (act: () => void): (() => void) =>
      () => {
        try {
          act()
        } catch (error) {
          end(() => reject(error))
        }
      }
    const end = (settle: () => void): void => {
      clearInterval(timer)
      removeHandlers()
      fleet.close()
      terminal.close()
      settle()
    }
    const stop = (): void => end(() => resolve(0))
    const change = async (kind: Change): Promise<void> => {
      const chosen = endpoints[controls.focus - 1]
      const targets = chosen === undefined ? endpoints : [chosen]
      const results = await Promise.all(
        targets.map((endpoint) => changeArming(endpoint, kind, token ?? '')),
      )
      const notice = results.map((text, i) => `${endpointText(targets[i]!)} ${text}`).join('; ')
      controls = { ...controls, notice: `${kind}: ${notice}` }
      guarded(draw)()
    }
    const onKeys = (sent: string): void => {
      for (const key of keysOf(sent)) {
        const pressed = press(key, controls, context())
        controls = pressed.controls
        if (pressed.act === 'quit') return stop()
        if (pressed.act !== undefined) void change(pressed.act)
      }
      pausedBoard = controls.paused ? (pausedBoard ?? fleet.board()) : undefined
      guarded(draw)()
    }
    // Numbers are drawn once a second; a new or lost connection is drawn immediately.
    const onChange = (): void => {
      const now = fleet
        .board()
        .sidecars.map(({ link }) => link)
        .join()
      if (now === links) return
      links = now
      guarded(draw)()
    }

    const terminal = openTerminal(output, input, colours, {
      onKeys,
      onResize: () => guarded(draw)(),
    })
    const fleet = watchFleet(endpoints, onChange, { ...times, readToken })
    const timer = setInterval(
      guarded(() => {
        fleet.tick()
        draw()
      }),
      EVERY_MS,
    )
    const removeHandlers = onStopSignal(stop)
    output.on('error', stop)
    guarded(draw)()
  })
}
