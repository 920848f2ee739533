import { expect, test } from 'vitest'
import { refreshRuleset, releaseRuleset, ruleset, undoRuleset } from '../../src/redirect/ruleset.ts'

test('every port is redirected from outside, and from loopback in both families', () => {
  const redirects = [
    { from: 3000, to: 15300 },
    { from: 8080, to: 15301 },
  ] as const
  expect(ruleset({ redirects, exemptUid: undefined })).toBe(`table inet squall
delete table inet squall
table inet squall {
  chain prerouting {
    type nat hook prerouting priority dstnat; policy accept;
    iifname != "lo" tcp dport 3000 counter redirect to :15300
    iifname != "lo" tcp dport 8080 counter redirect to :15301
  }
  chain output {
    type nat hook output priority -100; policy accept;
    ip daddr 127.0.0.0/8 tcp dport 3000 counter redirect to :15300
    ip6 daddr ::1 tcp dport 3000 counter redirect to :15300
    ip daddr 127.0.0.0/8 tcp dport 8080 counter redirect to :15301
    ip6 daddr ::1 tcp dport 8080 counter redirect to :15301
  }
}
`)
})

test('an exempt user is let through to loopback, and to nothing else', () => {
  const text = ruleset({ redirects: [{ from: 3000, to: 15300 }], exemptUid: 65532 })
  expect(text).toContain('    meta skuid != 65532 ip daddr 127.0.0.0/8 tcp dport 3000 counter')
  expect(text).toContain('    meta skuid != 65532 ip6 daddr ::1 tcp dport 3000 counter')
  expect(text).toContain('    iifname != "lo" tcp dport 3000 counter')
})

test('to undo works whether there is something or not', () => {
  expect(undoRuleset()).toBe('table inet squall\ndelete table inet squall\n')
})

test('a held redirect is for new connections, and lapses unless it is refreshed', () => {
  const redirects = [{ from: 3000, to: 15300 }] as const
  const text = ruleset({ redirects, exemptUid: undefined, heldSeconds: 10 })
  const condition = 'tcp dport @held tcp flags & (fin | syn | rst | ack) == syn'
  expect(text).toContain(`iifname != "lo" tcp dport 3000 ${condition} counter redirect to :15300`)
  expect(text).toContain(`ip6 daddr ::1 tcp dport 3000 ${condition} counter redirect to :15300`)
  const refresh = `flush set inet squall owned
flush set inet squall held
add element inet squall held { 3000 timeout 10s }
`
  expect(text.endsWith(refresh)).toBe(true)
  expect(refreshRuleset(redirects, 10)).toBe(refresh)
})

test('to release it keeps the rules, by which open connections are translated', () => {
  expect(releaseRuleset()).toBe(`table inet squall {
  set held { type inet_service; flags timeout; }
  set owned { type inet_service; }
}
flush set inet squall held
delete set inet squall owned
`)
})
