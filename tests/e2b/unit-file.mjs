// Reads a systemd unit strictly: { Section: { Key: [values] } }. Throws on every line that is not a section, an
// assignment or a comment, because systemd would only log it and go on.
export function readUnit(text) {
  const unit = {}
  let section
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '' || /^[#;]/.test(line)) continue
    const heading = line.match(/^\[([A-Z][A-Za-z]*)\]$/)
    const pair = line.match(/^([A-Z][A-Za-z0-9]*)=(.*[^ \t])$/)
    if (heading) section = unit[heading[1]] ??= {}
    else if (pair && section && !line.endsWith('\\')) (section[pair[1]] ??= []).push(pair[2])
    else throw new Error(`line ${index + 1} is neither section, assignment nor comment: ${line}`)
  }
  return unit
}
