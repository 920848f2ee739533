import { type Board, type Place, placeText } from './sidecar-view.ts'
import { type Change, changeArming } from './change-arming.ts'
import { type Around, type Controls, keysOf, press, UNTOUCHED } from './controls.ts'
import type { FeedOptions } from './feed.ts'
import { watchFleet } from './fleet.ts'
import { renderScreen } from './screen/screen.ts'
import { onStopSignal, type Input, openTerminal, type Output } from './terminal.ts'

/** Configures the screen. */
export interface LiveOptions {
  readonly places: readonly Place[]
  readonly token: string | undefined
  readonly readToken?: string | undefined
  readonly colours: boolean
  readonly output: Output
  readonly input: Input
  readonly times?: Pick<FeedOptions, 'silenceMs' | 'againMs'>
}

const EVERY_MS = 1_000

/** Shows everything on a screen that follows keys, until somebody quits. */
export function topLive(options: LiveOptions): Promise<number> {
  const { places, token, readToken, colours, output, input, times } = options
  return new Promise((resolve, reject) => {
    const around: Around = { addresses: places.map(placeText), hasToken: token !== undefined }
    let controls: Controls = UNTOUCHED
    let held: Board | undefined
    let links = ''

    const draw = (): void => {
      const { width, height } = terminal
      const board = held ?? fleet.board()
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
      letGo()
      fleet.close()
      terminal.close()
      settle()
    }
    const stop = (): void => end(() => resolve(0))
    const change = async (kind: Change): Promise<void> => {
      const chosen = places[controls.focus - 1]
      const targets = chosen === undefined ? places : [chosen]
      const said = await Promise.all(targets.map((place) => changeArming(place, kind, token ?? '')))
      const notice = said.map((text, i) => `${placeText(targets[i]!)} ${text}`).join('; ')
      controls = { ...controls, notice: `${kind}: ${notice}` }
      guarded(draw)()
    }
    const onKeys = (sent: string): void => {
      for (const key of keysOf(sent)) {
        const pressed = press(key, controls, around)
        controls = pressed.controls
        if (pressed.act === 'quit') return stop()
        if (pressed.act !== undefined) void change(pressed.act)
      }
      held = controls.paused ? (held ?? fleet.board()) : undefined
      guarded(draw)()
    }
    // Numbers change once a second; who comes and goes is shown at once.
    const onNews = (): void => {
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
    const fleet = watchFleet(places, onNews, { ...times, readToken })
    const timer = setInterval(
      guarded(() => {
        fleet.tick()
        draw()
      }),
      EVERY_MS,
    )
    const letGo = onStopSignal(stop)
    output.on('error', stop)
    guarded(draw)()
  })
}
