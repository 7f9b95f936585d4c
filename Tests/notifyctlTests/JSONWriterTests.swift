import Foundation
import Testing

@testable import notifyctl

@Suite struct JSONWriterTests {
    private func text(_ body: (inout JSONWriter) -> Void) -> String {
        var json = JSONWriter()
        body(&json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    @Test func `members are written in order`() {
        let text = text { json in
            json.object { json in
                json.member("z", 1)
                json.member("a", true)
                json.member("none", nil)
                json.key("list")
                json.array { json in
                    json.string("x")
                    json.string("y")
                }
                json.key("empty")
                json.object { _ in }
                json.member("last", "end")
            }
        }
        #expect(text == #"{"z":1,"a":true,"none":null,"list":["x","y"],"empty":{},"last":"end"}"#)
    }

    @Test func `in strings, characters that could change a terminal are escaped`() throws {
        let hostile =
            (0...0xA1).compactMap { Unicode.Scalar(UInt32($0)) }.map(String.init).joined()
            + "é\u{2028}😀\u{61C}\u{61D}\u{200D}\u{200E}\u{200F}\u{202A}\u{202E}\u{202F}\u{2066}\u{2069}\u{206A}"
        let text = text { $0.string(hostile) }
        #expect(!text.unicodeScalars.contains { $0.changesTerminal })
        let back = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
        #expect(back as? String == hostile)
    }

    @Test(arguments: [UInt64.min, .max])
    func `numbers are written as integers`(number: UInt64) {
        #expect(text { $0.number(number) } == "\(number)")
    }
}
