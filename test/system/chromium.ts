import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { DevTools } from './dev-tools.ts'
import { PATIENCE } from './patience.ts'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const FLAGS = [
  '--headless=new',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--no-default-browser-check',
  '--hide-scrollbars',
  '--remote-debugging-port=0',
]

/** A browser of its own, with an empty profile. */
export interface Chromium {
  readonly tools: DevTools
  close(): Promise<void>
}

/** Starts a browser that nobody sees. */
export async function startChromium(): Promise<Chromium> {
  const profile = await mkdtemp(join(tmpdir(), 'squall-chromium-'))
  const child = spawn(findChromium(), [...FLAGS, `--user-data-dir=${profile}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own: a browser is many processes.
    detached: true,
  })
  const ended = once(child, 'close')
  const stop = async (): Promise<void> => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // Gone by itself.
    }
    await ended
    await rm(profile, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const tools = await DevTools.connect(await address(child.stderr))
    return {
      tools,
      close: async () => {
        tools.close()
        await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function findChromium(): string {
  const directories = (process.env['PATH'] ?? '').split(delimiter)
  const found = [
    process.env['SQUALL_CHROMIUM'] ?? '',
    ...NAMES.flatMap((name) => directories.map((directory) => join(directory, name))),
  ].find((path) => path !== '' && existsSync(path))
  if (found !== undefined) return found
  throw new Error(
    'Chromium is missing. On Debian: apt-get install chromium; elsewhere set SQUALL_CHROMIUM.',
  )
}

/** Where the browser says that it can be driven. */
function address(stderr: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const timer = setTimeout(() => reject(new Error(`Chromium did not start: ${text}`)), PATIENCE)
    stderr.setEncoding('utf8')
    stderr.on('data', (part: string) => {
      text += part
      const found = /DevTools listening on (ws:\S+)/.exec(text)?.[1]
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    })
    stderr.on('end', () => {
      clearTimeout(timer)
      reject(new Error(`Chromium ended at once: ${text}`))
    })
  })
}
