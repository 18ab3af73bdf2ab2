class Servemark < Formula
  desc "Benchmark LLM inference servers, with the accuracy of each number"
  homepage "https://github.com/servemark/servemark"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "https://github.com/servemark/servemark/releases/download/v@VERSION@/servemark-@VERSION@-aarch64-apple-darwin.tar.gz"
      sha256 "@aarch64-apple-darwin@"
    end
    on_intel do
      url "https://github.com/servemark/servemark/releases/download/v@VERSION@/servemark-@VERSION@-x86_64-apple-darwin.tar.gz"
      sha256 "@x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "https://github.com/servemark/servemark/releases/download/v@VERSION@/servemark-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "https://github.com/servemark/servemark/releases/download/v@VERSION@/servemark-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "servemark"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/servemark.bash" => "servemark"
    fish_completion.install "completions/servemark.fish"
    zsh_completion.install "completions/_servemark"
    doc.install "README.md", "THIRD-PARTY.txt"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/servemark --version")
  end
end
