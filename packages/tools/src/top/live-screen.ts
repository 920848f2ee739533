import { type AdminEndpoint, endpointText } from '#admin-api'
import type { Board } from './sidecar-view.ts'
import { type Change, changeArming, INITIAL_CONTROLS, keysOf, press } from './controls.ts'
import { type FeedOptions, watchFleet } from './feed.ts'
import { mostScroll, renderScreen, type ScreenOptions } from './screen/screen.ts'
import { type Input, onStopSignal, openTerminal, type Output } from '#cli'

interface LiveOptions {
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
  return new Promise((resolve, reject) => {
    const screen = new LiveScreen(options, (error) =>
      error === undefined ? resolve(0) : reject(error),
    )
    screen.draw()
  })
}

class LiveScreen {
  readonly #options: LiveOptions
  readonly #ended: (error?: Error) => void
  readonly #terminal: ReturnType<typeof openTerminal>
  readonly #fleet: ReturnType<typeof watchFleet>
  readonly #timer: NodeJS.Timeout
  readonly #removeHandlers: () => void
  #controls = INITIAL_CONTROLS
  #pausedBoard: Board | undefined
  #links = ''

  constructor(options: LiveOptions, ended: (error?: Error) => void) {
    const { endpoints, readToken, colours, output, input, times } = options
    this.#options = options
    this.#ended = ended
    this.#terminal = openTerminal(output, input, colours, {
      onKeys: (sent) => this.#onKeys(sent),
      onResize: () => this.draw(),
    })
    this.#fleet = watchFleet(endpoints, () => this.#onChange(), { ...times, readToken })
    this.#timer = setInterval(() => {
      this.#fleet.tick()
      this.draw()
    }, EVERY_MS)
    this.#removeHandlers = onStopSignal(() => this.#end())
    output.on('error', () => this.#end())
  }

  draw(): void {
    try {
      this.#terminal.draw(renderScreen(this.#board, this.#screen))
    } catch (error) {
      this.#end(error as Error)
    }
  }

  get #board(): Board {
    return this.#pausedBoard ?? this.#fleet.board()
  }

  get #screen(): ScreenOptions {
    const { width, height } = this.#terminal
    return { width, height, ...this.#controls }
  }

  #end(error?: Error): void {
    clearInterval(this.#timer)
    this.#removeHandlers()
    this.#fleet.close()
    this.#terminal.close()
    this.#ended(error)
  }

  #onKeys(sent: string): void {
    const { endpoints, token } = this.#options
    for (const key of keysOf(sent)) {
      const pressed = press(key, this.#controls, {
        addresses: endpoints.map(endpointText),
        hasToken: token !== undefined,
        page: Math.max(1, this.#terminal.height - 4),
        most: mostScroll(this.#board, this.#screen),
      })
      this.#controls = pressed.controls
      if (pressed.act === 'quit') return this.#end()
      if (pressed.act !== undefined) void this.#change(pressed.act)
    }
    this.#pausedBoard = this.#controls.paused ? this.#board : undefined
    this.draw()
  }

  async #change(kind: Change): Promise<void> {
    const { endpoints, token = '' } = this.#options
    const chosen = endpoints[this.#controls.focus - 1]
    const results = await Promise.all(
      (chosen === undefined ? endpoints : [chosen]).map(
        async (target) => `${endpointText(target)} ${await changeArming(target, kind, token)}`,
      ),
    )
    this.#controls = { ...this.#controls, notice: `${kind}: ${results.join('; ')}` }
    this.draw()
  }

  /** Draws a new or lost connection immediately; numbers are drawn once a second. */
  #onChange(): void {
    const { sidecars } = this.#fleet.board()
    const links = sidecars.map(({ link }) => link).join()
    if (links === this.#links) return
    this.#links = links
    this.draw()
  }
}
