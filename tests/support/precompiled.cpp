// The program whose precompiled header the test programs share.
int main() {
  return 0;
}
