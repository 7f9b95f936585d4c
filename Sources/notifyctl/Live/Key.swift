/// A key that the user pressed.
enum Key: Equatable, Sendable {
    case character(Character)
    case enter
    case escape
    case tab
    case backTab
    case backspace
    /// Ctrl-U, which clears a line of input.
    case clearLine
    case up
    case down
    case left
    case right
    case home
    case end
    case pageUp
    case pageDown
}
