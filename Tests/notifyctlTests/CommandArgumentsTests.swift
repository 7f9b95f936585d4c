import Testing

@testable import notifyctl

@Suite struct CommandArgumentsTests {
    private let broken: [UInt8] = [0x61, 0xFF]

    private func arguments(_ all: [UInt8]...) -> CommandArguments { CommandArguments(all) }

    @Test func `UTF-8 arguments are unchanged`() throws {
        let arguments = arguments(Array("post".utf8), Array("ä.b".utf8), [], Array("\u{FFFD}".utf8))
        #expect(arguments.strings == ["post", "ä.b", "", "\u{FFFD}"])
        #expect(arguments.bytes(of: "ä.b") == Array("ä.b".utf8))
        try arguments.checkOptions()
        try arguments.check(except: nil)
        #expect(arguments.failure(quotedIn: "Unexpected argument 'ä.b'") == nil)
    }

    @Test func `arguments that are not UTF-8 become unique placeholders`() throws {
        let arguments = arguments(Array("post".utf8), broken, broken)
        #expect(Set(arguments.strings).count == 3)
        #expect(arguments.bytes(of: arguments.strings[1]) == broken)
        #expect(throws: CommandFailure.self) { try arguments.check(except: arguments.strings[2]) }
        #expect(throws: CommandFailure.self) { try arguments.check(except: nil) }
        let failure = arguments.failure(quotedIn: "Unexpected argument '\(arguments.strings[2])'")
        #expect(failure?.status == .invalidData)
        #expect(failure?.message?.hasPrefix("argument 3, 'a\u{FFFD}', is not UTF-8") == true)
    }

    @Test func `the payload argument need not be UTF-8`() throws {
        let arguments = arguments(Array("post".utf8), Array("a".utf8), broken)
        try arguments.checkOptions()
        try arguments.check(except: arguments.strings[2])
    }

    @Test func `options must be UTF-8, and arguments after -- are not options`() throws {
        let option = [0x2D] + broken
        #expect(throws: CommandFailure.self) { try arguments(Array("post".utf8), option).checkOptions() }
        try arguments(Array("--".utf8), option).checkOptions()
    }
}
