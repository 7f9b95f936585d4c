import NotifyCenter
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(25))) struct ArticleTests {
    /// The file with the article's code, compiled with the imports that the article shows.
    private let code = #filePath.replacing("ArticleTests.swift", with: "ArticleCode.swift")

    @Test func `the article shows the compiled code`() throws {
        let shown = try ArticleCode.shown(in: "Sources/NotifyCenter/NotifyCenter.docc/NotifyCenter.md")
        #expect(shown.count > 0)
        #expect(try shown == ArticleCode.compiled(in: code))
    }

    @Test func `the article's example behaves as described`() async throws {
        let (center, journal, executor) = (LocalCenter(), Journal(), ManualExecutor())
        let token = center.observe(UserDidFollow.self) { journal.note($0.user) }
        markSoon(PostQueue(center: center, executor: executor.execute))
        executor.endTurn()
        #expect(journal.take().sorted() == ["ann", "ann", "ann", "ann", "bob", "bob"])
        #expect(await firstFollower(center) == "ann")
        #expect(journal.take() == ["ann"])
        let bag = changePosts(in: center)
        center.post(UserDidFollow(user: "spam"))
        center.post(UserDidFollow(user: "Ann"))
        #expect(journal.take() == ["ann"])
        bag.cancelAll()
        for user in ["a", "b", "c"] { _ = signIn(user, in: center) }
        #expect(signIn("d", in: center).map(\.user) == ["b", "c", "d"])
        token.cancel()
    }

    @Test @Storage func `an observer on a global actor uses its owner`() async {
        let (center, ranking) = (LocalCenter(), Ranking())
        ranking.start(with: center)
        for user in ["ann", "bob", "ann"] { center.post(UserDidFollow(user: user)) }
        #expect(await eventually { ranking.counts == ["ann": 2, "bob": 1] })
    }

    @Test @MainActor func `a method of an actor runs on that actor`() async {
        let (center, screen) = (LocalCenter(), Screen())
        screen.start(with: center)
        center.post(UserDidFollow(user: "in place"))
        #expect(screen.title == "in place")
        center.removeObservations(of: screen)
        observe(for: screen, in: center)
        center.post(UserDidFollow(user: "later"))
        #expect(await eventually { screen.title == "later" })
    }
}
