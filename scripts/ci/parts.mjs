// The parts of `.ci/run`, which a merge needs, and of `.ci/nightly`, in their order. A test file names
// its part in its first line (test-files.mjs); those of `npm test` name none.

/** The package of Debian that has a program, where it has another name. */
export const PACKAGES = {
  python3: 'python3-venv',
  ss: 'iproute2',
  kubectl: 'kubernetes-client',
  man: 'man-db',
  nft: 'nftables',
  unshare: 'util-linux',
  setpriv: 'util-linux',
  'cni-plugins': 'containernetworking-plugins',
}

const NPX = ['npx', 'vitest', 'run']
const DATA_PATH = ['datapath', 'listener', 'accounting', 'upstream', 'faults', 'live', 'truth']
const DATA_PATH_TESTS = DATA_PATH.map((directory) => `test/${directory}`)
const PODS = [
  'nft',
  'ss',
  'setpriv',
  'podman',
  'buildah',
  'runc',
  'conmon',
  'catatonit',
  'cni-plugins',
]
const CLUSTER = PODS.concat('containerd', 'openssl', 'socat', 'unshare', 'kubectl', 'python3')
const ALL_OF_KUBERNETES =
  'etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl pause'

/** Returns a part that runs the system tests that name it. */
const system = (name, summary, minutes, { workers = 1, ...needs } = {}) => ({
  name,
  summary,
  minutes,
  workers,
  ...needs,
  system: true,
  tests: true,
  // With the build: the demo makes one without types.
  run: ['npm', 'run', '-s', 'test:system', '--', name],
})

/**
 * One part: `run` is its command and `minutes` its limit. With `tests`, the tests that vitest counts
 * are added up, and a run without any has failed. `programs`, `tools` (of test/system/install.sh) and
 * `kubernetes` (of test/system/cluster/tools/build.sh) are installed before it. `beside` runs it at the
 * same time as the part before it: both mostly wait.
 */
export const MERGE = [
  {
    name: 'format',
    summary: 'all files are formatted by prettier',
    minutes: 2,
    run: ['npm', 'run', 'format:check'],
  },
  {
    name: 'lint',
    summary: 'oxlint, and who may import whom',
    minutes: 2,
    run: ['npm', 'run', 'lint'],
  },
  {
    name: 'weight',
    summary: 'lines of each part of the source, within its budget',
    minutes: 2,
    run: ['node', 'scripts/weight.mjs', '--walk'],
  },
  {
    name: 'types',
    summary: 'types of source, tests and pages',
    minutes: 3,
    run: ['npm', 'run', 'typecheck'],
  },
  {
    name: 'reference',
    summary: 'generated pages, schemas and dashboards are current',
    minutes: 3,
    run: ['npm', 'run', 'reference:check'],
  },
  {
    name: 'scan',
    summary: 'the compiled JSON scan is current',
    minutes: 3,
    run: ['npm', 'run', '-s', 'scan:check'],
  },
  { name: 'tests', summary: 'npm test', minutes: 12, tests: true, run: ['npm', 'test'] },
  {
    name: 'standard-engine',
    summary: 'tests of the data path, with the standard engine',
    minutes: 6,
    tests: true,
    env: { SQUALL_ENGINE: 'standard' },
    run: [...NPX, ...DATA_PATH_TESTS],
  },
  {
    name: 'newest-node',
    summary: 'tests of the data path, and engines compared, on Node 24',
    minutes: 6,
    tests: true,
    tools: ['node24'],
    run: ['test/system/on-node.sh', '24', ...DATA_PATH_TESTS, 'test/engines'],
  },
  {
    name: 'demo',
    summary: 'npm run demo, with its build, takes less than 20 s',
    minutes: 2,
    run: ['node', 'scripts/ci/demo-time.mjs'],
  },
  system(
    'slow',
    'tests that wait: drains, time-outs, experiments and policies on this machine',
    18,
    {
      workers: 3,
    },
  ),
  system('attacks', 'calls counted, and turns of the event loop, under hostile load', 16),
  system('clients', 'real clients and servers of the TypeScript and Python SDKs', 16, {
    programs: ['python3'],
    tools: [
      'python',
      'agents',
      'node24',
      'conformance',
      'bridges',
      'inspector',
      'filesystem',
      'go-server',
      'k6',
    ],
  }),
  system('pod', 'one pod with the annotation, redirected ports, outgoing connections', 12, {
    programs: PODS,
    tools: ['node24'],
  }),
  system('api-server', 'the webhook, the client and the chart before a real API server', 12, {
    programs: ['openssl', 'kubectl'],
    tools: ['helm'],
    kubernetes: 'etcd kube-apiserver',
    beside: true,
  }),
  system('prometheus', 'metrics, rules and exemplars in a real Prometheus', 12, {
    tools: ['prometheus', 'alertmanager', 'compose'],
  }),
  system('browser', 'the admin page and reports in Chromium', 12, { programs: ['chromium'] }),
  system('site', 'the documentation site: links, navigation, search and layout in Chromium', 6, {
    programs: ['chromium'],
  }),
  system('terminal', 'pages, progress bars and completion in real terminals', 10, {
    programs: ['tmux', 'zsh', 'fish'],
  }),
  system('package', 'the package and the demo as a user installs them', 12, {
    programs: ['groff', 'man'],
    tools: ['node24', 'tarball'],
  }),
]

export const NIGHTLY = [
  {
    name: 'rounds',
    summary: 'what npm test repeats a few times, many times (SQUALL_AGENT_TASKS)',
    minutes: 40,
    tests: true,
    run: [...NPX, '--config', 'vitest.rounds.config.ts'],
  },
  {
    name: 'node-22',
    summary: 'npm test on Node 22',
    minutes: 12,
    tests: true,
    tools: ['node22'],
    run: ['test/system/on-node.sh', '22'],
  },
  {
    name: 'node-24',
    summary: 'npm test on Node 24',
    minutes: 12,
    tests: true,
    tools: ['node24'],
    run: ['test/system/on-node.sh', '24'],
  },
  {
    name: 'standard-tests',
    summary: 'npm test with the standard engine',
    minutes: 12,
    tests: true,
    env: { SQUALL_ENGINE: 'standard' },
    run: NPX,
  },
  system('campaigns', 'engines compared, fuzzers, random scripts (SQUALL_ENGINES_EXCHANGES)', 40, {
    programs: ['python3'],
    tools: ['python', 'node24', 'conformance', 'bridges'],
  }),
  system('soak', 'minutes of mixed traffic (SQUALL_…_SECONDS: SOAK, STDIO_SOAK, COLLECTOR)', 25),
  system('memory', 'memory under attacks and held calls (SQUALL_MEMORY_SECONDS)', 35),
  {
    ...system('attacks', '', 40),
    name: 'long-attacks',
    summary: 'the part attacks, a minute for each (SQUALL_ATTACK_SECONDS)',
    system: false,
    env: { SQUALL_ATTACK_SECONDS: process.env.SQUALL_ATTACK_SECONDS || '60' },
  },
  system('agents', 'agents of real frameworks: known verdicts, cures, and what each survives', 40, {
    programs: ['python3'],
    tools: ['agents', 'cures'],
  }),
  system('experiments', 'experiments, ready plans and searches against real systems', 50, {
    programs: ['python3'],
    tools: [
      'python',
      'node24',
      'conformance',
      'inspector',
      'prometheus',
      'alertmanager',
      'postgresql',
    ],
  }),
  system('slow-nightly', 'rare trouble that takes long to come about', 20, { workers: 3 }),
  system('cluster', 'a cluster of one node with the chart', 60, {
    programs: CLUSTER,
    tools: ['helm', 'node24'],
    kubernetes: ALL_OF_KUBERNETES,
  }),
  system('fleet', 'commands for up to 5,000 pods of a real API server (SQUALL_FLEET_PODS)', 60, {
    programs: ['kubectl'],
    kubernetes: 'etcd kube-apiserver',
  }),
  {
    name: 'planted-faults',
    summary: 'known faults in the source, each of which the tests of a merge must find',
    minutes: 30,
    run: ['node', 'scripts/plant-faults.mjs'],
  },
  system('docs', 'commands of the docs with the programs that they name', 20, {
    programs: ['python3', 'chromium', 'tmux'],
    tools: ['python', 'node24', 'bridges', 'inspector', 'actionlint', 'k6', 'postgresql'],
  }),
  system('pictures', 'dashboards and pages as pictures', 15, {
    programs: ['chromium'],
    tools: ['prometheus'],
  }),
]

/** Every part of either script by its name. */
export const PARTS = new Map([...MERGE, ...NIGHTLY].map((part) => [part.name, part]))
