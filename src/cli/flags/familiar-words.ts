const TARGET = { '--url': '--target', '--upstream': '--target', '--server': '--target' }

/** Maps words and flags of other tools to Squall's, by the command; `run` has the first words. */
const WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  run: {
    start: 'run',
    serve: 'run',
    proxy: 'run',
    up: 'run',
    lint: 'validate',
    verify: 'validate',
    doctor: 'check',
    diagnose: 'check',
    toxic: 'fault add',
    'inject-fault': 'fault add',
    quickstart: 'try',
    bench: 'load',
    logs: 'tap',
    watch: 'agents --follow',
    dashboard: 'top',
    arm: 'resume',
    disarm: 'stop',
    hook: 'mcp hook',
    approve: 'mcp approve',
    policy: 'mcp policy',
    report: 'load report, or load merge',
    uninject: 'inject --undo',
    detach: 'attach --undo',
    '--port': '--listen 127.0.0.1:15300',
    '--admin-port': '--admin 127.0.0.1:15390',
    '--url': '--upstream',
    '--target': '--upstream',
    '--config': '--rules',
    '--verbose': '--log-level debug',
  },
  load: {
    ...TARGET,
    '--rps': '--rate 50/s',
    '--qps': '--rate 50/s',
    '--vus': '--clients',
    '--users': '--clients',
    '--concurrency': '--clients',
    '--tasks': '--task-count',
    '--hold': '--open-streams',
    '--iterations': '--task-count',
    '--requests': '--task-count',
    '--threshold': '--slo',
    '--time': '--duration',
    '--graceful-stop': '--drain-timeout',
  },
  check: { ...TARGET, '--admin': '--sidecar' },
  init: TARGET,
  try: { '--target': '--url', '--upstream': '--url' },
  fault: { delete: 'fault remove', rm: 'fault remove', new: 'fault add' },
  'fault add': {
    '--latency': '--delay',
    '--status': '--abort',
    '--error': '--abort',
    '--duration': '--for',
    '--rate': '--percent',
    '--admin': '--sidecar',
  },
}

/** Returns Squall's word or flag for that of another tool; undefined for any other word. */
export function familiarWord(word: string, command: string): string | undefined {
  const words = WORDS[command] ?? {}
  return Object.hasOwn(words, word) ? `did you mean ${words[word]}?` : undefined
}
