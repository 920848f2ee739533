/** Maps commands of other tools to Squall's. */
const COMMANDS: Readonly<Record<string, string>> = {
  start: 'run',
  serve: 'run',
  proxy: 'run',
  lint: 'validate',
  verify: 'validate',
  doctor: 'check',
  diagnose: 'check',
  toxic: 'fault add',
}

/** Maps flags of other tools to Squall's, by the command. */
const FLAGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  run: {
    '--port': '--listen 127.0.0.1:15300',
    '--url': '--upstream',
    '--target': '--upstream',
    '--config': '--rules',
  },
  load: {
    '--url': '--target',
    '--rps': '--rate 50/s',
    '--qps': '--rate 50/s',
    '--vus': '--clients',
    '--users': '--clients',
    '--concurrency': '--clients',
    '--iterations': '--tasks',
    '--requests': '--tasks',
    '--threshold': '--slo',
  },
}

/** Returns Squall's command or flag for that of another tool; undefined for any other word. */
export function familiarWord(word: string, command: string): string | undefined {
  // Without a command, options are those of `run`.
  const words = word.startsWith('-') ? FLAGS[command] : command === 'run' ? COMMANDS : undefined
  if (words === undefined) return undefined
  return Object.hasOwn(words, word) ? `did you mean ${words[word]}?` : undefined
}
