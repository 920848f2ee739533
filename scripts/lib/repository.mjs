/**
 * Returns what keeps a package from a release: no owner, or another repository than the one that
 * runs the release, by the variable GITHUB_REPOSITORY.
 */
export function problemsOfRepository({ homepage, repository }, running) {
  if (homepage.includes('/OWNER/')) {
    return ['the repository has no owner yet: run node scripts/set-repository.mjs OWNER/NAME']
  }
  if (running === undefined || repository.url === `git+https://github.com/${running}.git`) return []
  return [
    `package.json names ${homepage.replace('https://', '')}, and this release runs in github.com/${running}: a publish with provenance would be rejected`,
  ]
}
