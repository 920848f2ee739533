import { type Policy, readPolicy } from '#rules'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Protected } from '../../src/policy/protected-files.ts'
import { callProblems } from '../../src/policy/reach.ts'
import { APPROVING, HARMLESS } from './approve-forms.ts'

const POLICY = policyOf()
let files: Protected

function policyOf(): Policy {
  const read = readPolicy('{ targets: ["http://*"], environments: [staging] }')
  if (!read.ok) throw new Error(JSON.stringify(read.problems))
  return read.policy
}

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'squall-reach-'))
  const policy = join(directory, 'squall-policy.yaml')
  await writeFile(policy, '')
  await symlink(policy, join(directory, 'notes.txt'))
  files = { policy, state: join(directory, '.state/squall'), isChanged: false, directory }
})

async function of(tool: string, input: unknown, command?: string): Promise<string> {
  const call = { tool, input, url: undefined, command }
  return (await callProblems(call, POLICY, files)).join('\n')
}
const bash = (command: string): Promise<string> => of('Bash', { command })

/** Commands that do not reach Squall, or only read. */
const OTHERS = [
  ...HARMLESS,
  'NODE_ENV=production npm run build',
  'grep -r live src',
  'kubectl --context prod get pods',
  'cd ~/squall && NODE_ENV=production npm run build',
  'git commit -m "fix(squall): production names"',
  'grep -rn "squall apply" docs',
  'rg "squall mcp approve" docs | head -3',
  'echo "squall fault add --abort 503 in production" >> notes.md',
  "git log --grep 'squall resume' | head",
  'squall fault list',
  'squall fault clear',
  'squall stop',
  'squall experiment validate plan.yaml',
  'squall apply --help',
  'squall mcp policy validate squall-policy.yaml',
  'npx mcp-squall experiment validate --policy squall-policy.yaml plan.yaml',
  'curl -fsS http://127.0.0.1:15390/api/faults',
  'curl -X POST http://127.0.0.1:15390/api/disarm',
  'curl -d x=1 https://live.example.com/form',
  'cat squall-policy.yaml',
  'grep -n targets ./squall-policy.yaml | head',
  'git add squall-policy.yaml && git commit -m policy',
  'ls -la .claude/',
  'diff squall-policy.yaml other.yaml 2>/dev/null',
  'echo done > build.log 2>&1',
  'rm -rf dist/* build',
  'sed -i s/a/b/ src/main.ts',
  'echo $(cat x)',
  "yq '.targets' squall-policy.yaml",
  "awk '/targets/ { print $1 }' squall-policy.yaml",
  'tree -L 1 squall-policy.yaml',
  'find . -name squall-policy.yaml',
  'cp squall-policy.yaml /tmp/b.yaml',
  'git -C . log squall-policy.yaml',
  'sed -n 1,5p squall-policy.yaml',
  'node bin/squall.cjs policy validate squall-policy.yaml',
  'npx mcp-squall mcp policy validate squall-policy.yaml',
  'npx --yes mcp-squall@0.1.0 policy validate squall-policy.yaml',
  'git checkout -b experiments',
  'npm run experiments',
  'chmod +x *',
  'prettier --write *',
  'git commit -m "change the policy (squall-policy.yaml)"',
  'sort squall-policy.yaml | uniq -c',
  'rm -rf ./build ../other',
  'mv a.txt b.txt',
  'mv sub/a.txt .',
  'A=1 cat squall-policy.yaml',
  'npm run build',
  'git checkout main',
  'cp a.txt .',
  'x=$(squall fault list)',
  'git grep -n "/api/faults"',
  'gh pr create --title "squall apply"',
  'for i in 1 2; do curl -s http://127.0.0.1:15390/api/faults | head; done',
  'squall fault add --help # of faults',
  'squall experiment run -h | head',
  'squall attach shop-0 -n shop --undo',
  'squall attach --help',
  'squall sweep --tape t.jsonl -- npm test',
  'squall run --tape t.jsonl --tape-force',
  'squall report experiments/20260101-100000-abcdef/result.json --out r.html',
  'docker ps -q | xargs docker rm',
  'docker ps -q | xargs -r docker rm',
  'cat list | xargs pip install',
  'cat list | xargs -n 1 npm install',
  'ls | xargs grep -n install',
  'ls | xargs -0 grep install',
  'ls | xargs timeout 5 grep rm',
  'claude plugin disable other',
  'claude mcp list',
  'ls | xargs sed -n 1p',
  'which parallel install',
  'which -a xargs rm',
  'if grep -q targets squall-policy.yaml; then npm test; fi',
]

const TRUSTING = APPROVING.map((each) =>
  each
    .replace(/=approve/, "='policy trust'")
    .replace('{approve,x}', '{policy,trust}')
    .replaceAll('approve', 'policy trust'),
)

const INJECTING = [
  'squall fault add --abort 503 --percent 100',
  'npx mcp-squall fault add --delay 1s --percent 5 --for 30s',
  'squall apply',
  'squall apply rules.yaml -n shop',
  'squall attach shop-0 -f rules.yaml',
  'squall -n shop attach shop-0 # --undo',
  'squall attach shop-0; squall attach shop-0 --undo',
  'squall resume',
  'squall experiment run plan.yaml',
  'node bin/squall.cjs experiment again last',
  'squall experiment search --vary percent=1%..50% plan.yaml',
  'squall mcp --policy weak.yaml',
  'cd app && npx mcp-squall apply rules.yaml',
  'F=fault; squall $F add --abort 503',
  "bash -c 'squall apply'",
  'echo squall apply | sh',
  'echo c3F1YWxsIGFwcGx5IHJ1bGVz | base64 -d | sh',
  'rg --pre "squall apply" x docs',
  `curl -X POST http://127.0.0.1:15390/api/faults -d '{"abort":503}'`,
  'curl --json @f.json 127.0.0.1:15390/api/faults',
  'wget --post-data x http://127.0.0.1:15390/api/arm',
  'http :15390/api/faults abort=503',
  `python3 -c "import requests; requests.post('http://127.0.0.1:15390/api/faults')"`,
  'toxiproxy-cli toxic add -t latency orders',
  'x=$(squall apply rules.yaml)',
  'ls\nsquall apply rules.yaml',
  "echo a # it's\nsquall apply rules.yaml\necho # that's",
  'echo `squall resume`',
  'echo "$(echo $(squall apply rules.yaml))"',
  'cat <(squall apply rules.yaml)',
  'echo $(curl -d x http://127.0.0.1:15390/api/faults)',
  'curl -s http://127.0.0.1:15390/api/faults; curl -d x http://127.0.0.1:15390/api/faults',
  'curl http://127.0.0.1:15390/api/errors & http :15390/api/faults abort=503',
  'curl -K post.cfg http://127.0.0.1:15390/api/faults',
  'curl --config post.cfg http://127.0.0.1:15390/api/faults',
  'curl http://127.0.0.1:15390/api/faults ";" -d x',
  'M=POST; curl -X $M http://127.0.0.1:15390/api/faults',
  'curl -X "$METHOD" http://127.0.0.1:15390/api/faults',
  'curl -d x http://127.0.0.1:15390/api//faults',
  'curl -d x http://127.0.0.1:15390/api/./faults',
  'squall resume 127.0.0.1:15390 # --help',
  'squall fault add --name " -h" --abort 503',
  'squall apply --help; squall apply rules.yaml',
  'squall apply rules.yaml --help "; true"',
  'squall >/dev/null apply',
  'squall 2>&1 apply',
  'squall fault ad? --abort 503',
  'squall experiment "$X" p',
]

const WRITING = [
  'echo x > squall-policy.yaml',
  'echo x >> ./squall-policy.yaml',
  'echo x >| squall-policy.yaml',
  'echo x &> squall-policy.yaml',
  'cat weak.yaml >squall-policy.yaml',
  'cat weak.yaml | tee squall-policy.yaml',
  "sed -i 's/10%/100%/' squall-policy.yaml",
  'sed --in-place s/a/b/ squall-policy.yaml',
  "sed -n 'w squall-policy.yaml' weak.yaml",
  'cp weak.yaml squall-policy.yaml',
  'mv weak.yaml squall-policy.yaml',
  'rm squall-policy.yaml',
  'rm -f *.yaml',
  'ln -sf weak.yaml squall-policy.yaml',
  'dd if=weak.yaml of=squall-policy.yaml',
  'truncate -s 0 squall-policy.yaml',
  'install weak.yaml squall-policy.yaml',
  'perl -pi -e s/a/b/ squall-policy.yaml',
  `python3 -c "open('squall-policy.yaml','w').write('x')"`,
  `node -e "fs.writeFileSync('squall-policy.yaml', 'x')"`,
  'git checkout HEAD~9 -- squall-policy.yaml',
  'patch squall-policy.yaml < weak.diff',
  'curl -o squall-policy.yaml http://x/weak.yaml',
  'squall init --force --out squall-policy.yaml',
  'squall experiment catalog latency > squall-policy.yaml',
  'cat weak.yaml > squall-"policy".yaml',
  'F=squall-policy.yaml; cat weak.yaml > $F',
  'cat weak.yaml > SQUALL-POLICY.yaml',
  'sudo tee squall-policy.yaml < weak.yaml',
  "bash -c 'echo x > squall-policy.yaml'",
  'if true; then rm squall-policy.yaml; fi',
  'echo {} > .claude/settings.json',
  'cd .claude && echo {} > settings.local.json',
  'rm -rf .claude',
  'mv .cursor old',
  'echo {} > .mcp.json',
  'cp x .cursor/hooks.json',
  `echo {} > ${homedir()}/.claude/settings.json`,
  'echo {} > ~/.claude/settings.json',
  'rm experiments/history.jsonl',
  'rm -rf experiments',
  'rm -r experiments/20260101-100000-abcdef',
  'echo > audit.jsonl',
  'echo {} > .state/squall/trusted-policies/x.json',
  'echo `rm squall-policy.yaml`',
  'rm -r $PWD',
  'bash -c "rm -r ../squall-*"',
  'rm -r .',
  'A=1 rm -r .',
  "git commit -m x # it's\nrm squall-policy.yaml\n# that's",
  'mv -t /tmp .',
  'git -C .. checkout squall-policy.yaml',
  'git -C . checkout -- .',
  "awk -v x='a' 'BEGIN { system(\"rm squall-policy.yaml\") }'",
  'awk \'{ print > "squall-policy.yaml" }\' x',
  'git grep -O"rm squall-policy.yaml; true" x',
  'rsync -a --delete weak/ .',
  'git checkout .',
  'git restore -- .',
  'mv . ../other',
  'rm -rf ~/.claude',
  'rm -rf "$HOME/.claude"',
  'rm -rf .state',
  'rm .claude/*',
  'rm *',
  'tee .claude/plugins/squall/hooks/hooks.json < weak',
  'sort -uo squall-policy.yaml x',
  'sort -osquall-policy.yaml x',
  'sort --output=squall-policy.yaml x',
  'uniq x squall-policy.yaml',
  'less -O squall-policy.yaml x',
  'rg --pre tee x squall-policy.yaml',
  'cd -- .claude && tee settings.json',
  'tee squall-{policy,x}.yaml',
  'tee squall-polic[y].yaml',
  'cp weak/squall-policy.yaml .',
  'cp -t . weak/squall-policy.yaml',
  'yq -i .maxPercent=100 squall-policy.yaml',
  'awk -i inplace 1 squall-policy.yaml',
  'awk \'BEGIN { system("rm squall-policy.yaml") }\'',
  'find . -name squall-policy.yaml -delete',
  'git log --output=squall-policy.yaml',
  'git commit -m "x y" && rm squall-policy.yaml',
  'git commit -m "x; y" > "squall-policy.yaml"',
  'echo "$(tee squall-policy.yaml < weak)"',
  'echo cm0gc3F1YWxsLXBvbGljeS55YW1s | base64 -d | sh',
  'xargs rm < list',
  'cat list | xargs -0 -n 1 sed -i s/a/b/',
  'find . -type f | xargs -I {} mv {} /tmp',
  'ls | parallel rm',
  'ls | parallel -j 4 rm',
  'ls | xargs unlink',
  'ls | xargs nice rm',
  'ls | xargs env A=1 rm',
  'ls | xargs timeout 5 rm',
  'ls | xargs --max-args 1 rm',
  'ls | busybox xargs rm',
  'git ls-files | xargs nice sed -i s/a/b/',
  'ls | xargs perl -pi -e s/a/b/',
  'claude plugin uninstall squall',
  'claude mcp remove squall',
  'ls | xargs -I {} sh -c "rm {}"',
  'ls | xargs -0 -- sudo /bin/rm -f',
  'squall sweep --tape t -- rm squall-policy.yaml',
  'squall sweep --tape t --check "cp evil .claude/settings.json" -- npm test',
  'npx mcp-squall try -- cp evil.json .claude/settings.json',
  'squall try cp evil.json .claude/settings.json',
  'squall run --tape .claude/settings.json --tape-force',
  'squall run --tape=.claude/settings.json --tape-force',
  'squall load --junit .claude/settings.json',
  'squall load --record-baseline .claude/settings.json',
  'squall run --call-log=.claude/settings.json',
  'squall load --report .claude/settings.json',
  'squall sweep --results .claude/settings.json',
  'squall init -o .claude/settings.json',
  'squall init --save .claude/settings.json',
  'squall init --out=.claude/settings.json',
]

describe('the hook, of a command of the shell,', () => {
  it.each(OTHERS)('allows %j', async (command) => {
    expect(await bash(command)).toBe('')
  })

  it.each(INJECTING)('refuses faults past squall mcp: %j', async (command) => {
    expect(await bash(command)).toContain('without a plan, its gates and its approval')
  })

  it.each(WRITING)('refuses to change what guards the agent: %j', async (command) => {
    expect(await bash(command)).toMatch(/the call may change .*, which only a person may/)
  })

  it.each([...APPROVING, ...TRUSTING])('refuses to approve and to trust: %j', async (command) => {
    expect(await bash(command)).not.toBe('')
  })

  it.each([
    'squall load --target http://mcp.prod.svc/mcp',
    'kubectl -n prod get pods -l squall.dev/a=b',
  ])('refuses production where it reaches Squall: %j', async (command) => {
    expect(await bash(command)).toContain('names production')
  })

  it('refuses a command that is too long to be checked', async () => {
    expect(await bash(`${'a '.repeat(40_000)}; sq"ua"ll apply`)).toContain('too long')
    expect(await bash(`echo ${'a '.repeat(40_000)}`)).toBe('')
    expect(await bash(`echo ${'a '.repeat(10_000)}; squall list`)).toBe('')
  })
})

describe('the hook, of a command of git for the whole project,', () => {
  const POLICY_FILE = 'squall-policy.yaml'
  let project: string
  const git = (...args: string[]): void =>
    void execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: project,
      stdio: 'ignore',
    })
  const ask = async (command: string): Promise<string> => {
    const own = { ...files, policy: join(project, POLICY_FILE), directory: project }
    const call = { tool: 'Bash', input: { command }, url: undefined, command: undefined }
    return (await callProblems(call, POLICY, own)).join('\n')
  }

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'squall-git-'))
    git('init', '-qb', 'master')
    await writeFile(join(project, POLICY_FILE), 'a')
    await writeFile(join(project, '.gitignore'), 'audit.jsonl\n')
    git('add', '.')
    git('commit', '-qm', 'first')
    await writeFile(join(project, POLICY_FILE), 'b')
    git('commit', '-qam', 'second')
  })

  const refused = expect.stringMatching(/the call may change .*, which only a person may/) as string

  it('passes where no guarded file would change', async () => {
    await writeFile(join(project, 'notes.txt'), 'x')
    for (const command of [
      'git reset --hard',
      'git reset --hard HEAD',
      'git clean -fdx',
      'git stash -u',
      'git stash',
      'git checkout -f',
      'git checkout -f -b next HEAD',
      'git switch -f master',
      'git checkout-index -fa',
      'git checkout -f -- notes.txt',
      'git reset --hard HEAD@{0}',
      'git -c a=b stash',
      'cd / && git reset --hard HEAD~1',
    ]) {
      expect(await ask(command), command).toBe('')
    }
  })

  it('refuses another version of the policy', async () => {
    expect(await ask('git reset --hard HEAD~1')).toEqual(refused)
    expect(await ask(`cd / && git -C ${project} reset --hard HEAD~1`)).toEqual(refused)
    expect(await ask('git reset --soft HEAD~1')).toBe('')
  })

  it.each([
    'git -c a=b reset --hard HEAD~1',
    'git -c "user.name=a b" reset --hard HEAD~1',
    'git --no-optional-locks reset --hard HEAD~1',
    '/usr/bin/git --no-pager -c a=b reset --hard HEAD~1',
    'if true; then git reset --hard HEAD~1; fi',
    'git reset --har HEAD~1',
    'git reset --hard HEAD@{1}',
    'git reset --hard no-such-revision',
    'git checkout -f HEAD~1',
    'git checkout --force HEAD~1',
    'git checkout -f -b next HEAD~1',
    'git switch -f --detach HEAD~1',
    'git switch --discard-changes --detach HEAD~1',
    'git read-tree -u --reset HEAD~1',
    'git --git-dir=.git --work-tree=. reset --hard',
    'GIT_DIR=.git git reset --hard',
  ])('refuses another version of the policy by %j', async (command) => {
    expect(await ask(command)).toEqual(refused)
  })

  it('reads the directories of git before its command', async () => {
    expect(await ask(`cd / && git -c a=b -C ${project} -C . reset --hard HEAD~1`)).toEqual(refused)
  })

  it('refuses to remove files that git does not have', async () => {
    await writeFile(join(project, 'audit.jsonl'), 'x')
    expect(await ask('git clean -fd')).toBe('')
    expect(await ask('git clean -fdx')).toEqual(refused)
    expect(await ask('git clean -ndx')).toBe('')
    await writeFile(join(project, '.mcp.json'), '{}')
    expect(await ask('git clean -fd')).toEqual(refused)
    expect(await ask('git stash -u')).toEqual(refused)
    await mkdir(join(project, 'src'))
    expect(await ask('cd src && git stash -u')).toEqual(refused)
    expect(await ask('cd src && git clean -fd')).toBe('')
    expect(await ask('cd src && git clean -fd ..')).toEqual(refused)
    expect(await ask('git stash')).toBe('')
  })

  it('refuses to take back a change of the policy', async () => {
    await writeFile(join(project, POLICY_FILE), 'c')
    for (const command of [
      'git reset --hard',
      'git stash',
      'true && git stash push -m x',
      'git checkout -f',
      'git switch -f master',
      'git checkout-index -fa',
    ]) {
      expect(await ask(command), command).toEqual(refused)
    }
    expect(await ask('git stash list')).toBe('')
    const many = Array.from({ length: 9 }, (_, i) => `git stash push -m ${i}`).join(';')
    expect(await ask(many)).toEqual(refused)
  })
})

describe('the hook, of a tool,', () => {
  it.each([
    ['Edit', { file_path: 'squall-policy.yaml', old_string: 'a', new_string: 'b' }],
    ['Write', { file_path: '.claude/settings.local.json', content: '{}' }],
    ['MultiEdit', { file_path: './sub/../squall-policy.yaml', edits: [] }],
    ['NotebookEdit', { notebook_path: 'experiments/history.jsonl' }],
    ['Write', { file_path: 'notes.txt', content: 'through a symbolic link' }],
    ['mcp__filesystem__write_file', { path: 'squall-policy.yaml', content: 'x' }],
    ['mcp__filesystem__move_file', { source: 'weak.yaml', destination: 'squall-policy.yaml' }],
    ['mcp__shell__run', { command: 'rm squall-policy.yaml' }],
    ['ApplyPatch', { patch: '*** Update File: squall-policy.yaml\n-a\n+b\n' }],
    ['apply_patch', { input: '*** Begin Patch\n*** Delete File: squall-policy.yaml\n' }],
    ['mcp__files__patch', { patch: '--- a/squall-policy.yaml\n+++ b/squall-policy.yaml\n' }],
    ['mcp__files__remove', { name: 'squall-policy.yaml' }],
    ['mcp__files__put', { url: 'file:///x/squall-policy.yaml' }],
    ['mcp__get_x__write_file', { path: 'squall-policy.yaml' }],
    ['mcp__files__find_and_replace', { path: 'squall-policy.yaml' }],
    ['mcp__tmux__send', { keys: 'rm squall-policy.yaml' }],
    ['apply_patch', '*** Begin Patch\n*** Update File: squall-policy.yaml\n'],
    ['mcp__shell__get_output', { command: 'rm squall-policy.yaml' }],
    ['mcp__node__run', { source: 'fs.rmSync("squall-policy.yaml")' }],
    ['mcp__shell__run', { command: ['rm', '-rf', '.'] }],
    ['mcp__shell__run', { args: ['-rf', '.'], command: 'rm' }],
    ['mcp__shell__run', { argv: ['rm', 'squall-policy.yaml'] }],
    ['mcp__shell__run', { shell: 'rm squall-policy.yaml' }],
    ['mcp__files__put', { uri: 'file:///x/squall%2Dpolicy.yaml' }],
    ['mcp__files__delete_directory', { path: '.' }],
    ['mcp__files__move_file', { source: 'file:///', destination: 'x' }],
  ])('%s refuses to change what guards the agent: %j', async (tool, input) => {
    expect(await of(tool, input)).toContain('which only a person may')
  })

  it.each([
    ['Edit', { file_path: 'src/production.ts', new_string: 'squall apply in production' }],
    ['Write', { file_path: 'docs/live.md', content: 'production: [live]' }],
    ['Read', { file_path: 'squall-policy.yaml' }],
    ['mcp__filesystem__read_file', { path: 'squall-policy.yaml' }],
    ['mcp__files__read_file', { source: 'squall-policy.yaml' }],
    ['Edit', { file_path: 'docs/a.md', new_string: '--- a/squall-policy.yaml' }],
    ['mcp__github__list_issues', { query: 'production is down' }],
    ['mcp__github__create_issue', { body: 'percent: 100 in production' }],
    ['mcp__squall__validate_rules', { rules: 'rules: [{ name: a, faults: [reset] }]' }],
    ['mcp__squall__explain_rules', { rules: 'rules: [{ name: a, faults: [reset] }]', tool: 'x' }],
    ['mcp__squall__stop_experiment', {}],
    ['mcp__plugin_squall_squall__stop_experiment', { reason: 'prod' }],
    ['mcp__files__move_file', { source: 'a', destination: '.' }],
    ['mcp__files__delete_file', { path: 'src/main.ts' }],
    ['mcp__shell__run', { command: ['npm', 'run', 'build'] }],
    ['mcp__shell__run', { command: 'echo', args: ['squall', 'mcp', 'approve', 'x'] }],
    ['mcp__http__request', { url: 'http://127.0.0.1:15390/api/faults', method: 'GET' }],
    ['mcp__github__create_issue', { name: 'experiments', body: 'see /api/faults' }],
    ['ApplyPatch', { patch: '*** Update File: docs/live.md\n+squall apply in production\n' }],
    ['mcp__squall__disarm', { reason: 'production is affected' }],
    ['mcp__squall__explain_cell', { task: 'production', cell: '3-timeout' }],
    ['mcp__squall__run_impact', { scenario: 'latency', tools: ['x'], percent: 5, magnitude: 500 }],
    ['mcp__plugin_squall_squall__run_impact', { scenario: 'loss', tools: ['x'], percent: 10 }],
    ['mcp__squall__sweep_task', { task: 'x', faults: ['timeout'] }],
  ])('%s passes: %j', async (tool, input) => {
    expect(await of(tool, input)).toBe('')
  })

  it.each([
    ['mcp__squall__propose_experiment', { plan: 'stages: [50%]\nfaults: [reset]\n' }],
    ['mcp__my-chaos__inject', { service: 'search', fault_type: 'latency' }],
    ['mcp__resilience__start', { faults: ['reset'], namespace: 'shop' }],
    ['inject_fault', { namespace: 'prod' }],
    ['mcp__squall__run_impact', { scenario: 'latency', tools: ['x'], percent: 60 }],
    ['mcp__squall__run_impact', { scenario: 'latency', tools: ['x'], sidecar: 'prod' }],
    ['mcp__chaos__run_impact', { scenario: 'latency', percent: 5 }],
    ['mcp__chaos__observe', { namespace: 'prod' }],
    ['mcp__shell__run', { command: ['squall', 'fault', 'add', 'delay'] }],
    ['mcp__shell__run', { command: ['squall', 'mcp', 'approve', 'x'] }],
    ['mcp__shell__run', { command: 'squall', args: ['mcp', 'approve', 'x'] }],
    ['mcp__http__request', { url: 'http://127.0.0.1:15390/api/faults', method: 'POST' }],
    ['mcp__http__send', { url: 'http://127.0.0.1:15390/api/faults', body: { abort: 503 } }],
    [
      'mcp__browser__evaluate',
      { function: "() => fetch(':15390/api/faults', { method: 'POST' })" },
    ],
  ])('%s is checked: %j', async (tool, input) => {
    expect(await of(tool, input)).not.toBe('')
  })

  it('passes for a tool of squall mcp that an agent names without its server', async () => {
    const reason = { reason: 'production is affected' }
    expect(await of('disarm', reason, 'npx -y mcp-squall mcp --policy squall-policy.yaml')).toBe('')
    expect(await of('disarm', reason, 'npx other-squall-chaos')).not.toBe('')
  })

  it('is refused while the policy is another than a person trusted', async () => {
    files = { ...files, isChanged: true }
    const plan = 'stages: [5%]\nfaults: [reset]\nslo: { success: 99% }\n'
    expect(await of('mcp__squall__propose_experiment', { plan })).toContain(
      'squall mcp policy trust',
    )
    expect(await bash('npm test')).toBe('')
    files = { ...files, isChanged: false }
  })
})
