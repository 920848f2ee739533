// Hides the vitest configuration of this repository. Your project does not need this file.
export default {}
