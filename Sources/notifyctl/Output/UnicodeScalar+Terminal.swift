extension Unicode.Scalar {
    /// Whether the character could change the terminal that shows it, or the order of the characters around it. A
    /// change of the order could make one name look like another one.
    var changesTerminal: Bool { isBidirectionalControl || properties.generalCategory == .control }

    /// Whether the character marks, embeds, overrides or isolates a direction of text.
    var isBidirectionalControl: Bool {
        switch value {
        case 0x061C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
