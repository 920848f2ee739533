import { expect, test } from 'vitest'
import { ruleset, undoRuleset } from '../../src/redirect/ruleset.ts'

test('every port is taken over from outside, and from loopback in both families', () => {
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
