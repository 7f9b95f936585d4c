import ArgumentParser
import Testing

@testable import notifyctl

@Suite struct ArgumentTests {
    private func status(_ arguments: String) -> Int32? {
        do {
            _ = try Notifyctl.parseAsRoot(arguments.split(separator: " ").map(String.init))
            return nil
        } catch {
            return Notifyctl.exitCode(for: error).rawValue
        }
    }

    @Test(arguments: [
        "post", "post a b -l", "post a - -l", "post a b -f f", "post a -H nocolon", "post a -H :v",
        "post a --durability x",
        "post a b c", "subscribe", "subscribe a --from all", "subscribe a --from yesterday", "subscribe a -c 0",
        "subscribe a -c x", "subscribe a -t -1", "subscribe a -t nan", "durable remove", "ping x", "unknown",
        "stats --unknown",
    ])
    func `wrong usage is status 64`(arguments: String) {
        #expect(status(arguments) == 64)
    }

    @Test(arguments: [
        "post a", "post a b", "post a -", "post a -f f", "post a -l -f f", "post a -l -q", "post a b --json --object o",
        "post a -H k:v --header l:w:x -H k2: --durability synced", "subscribe a", "subscribe a.* b.> -v -c 1 -t 0.5",
        "subscribe a --durable d --from all", "subscribe a --from now", "durable list --json", "durable remove d",
        "ping",
        "stats --json", "ping --socket /s",
    ])
    func `right usage is taken`(arguments: String) {
        #expect(status(arguments) == nil)
    }

    @Test func `a header is cut at its first colon`() {
        #expect(Header(argument: "k:v:w") == Header(argument: "k:v:w"))
        #expect(Header(argument: "k:v:w")?.key == "k")
        #expect(Header(argument: "k:v:w")?.value == "v:w")
        #expect(Header(argument: "k:")?.value == "")
        #expect(Header(argument: "k") == nil)
        #expect(Header(argument: ":v") == nil)
    }
}
